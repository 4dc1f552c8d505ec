{{ config(materialized='table', engine='MergeTree()', order_by='id') }}
select id, name, length(name) as letters from {{ ref('cities') }}
