{{ config(materialized='view') }}
select id, name from {{ ref('numbered') }} where letters < 5
