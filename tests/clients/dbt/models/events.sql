{{ config(materialized='incremental', engine='MergeTree()', order_by='event', incremental_strategy='append') }}
select id + {{ var('start', 0) }} as event, name from {{ ref('numbered') }}
{% if is_incremental() %}
where event > (select max(event) from {{ this }})
{% endif %}
