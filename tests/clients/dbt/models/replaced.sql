{{ config(materialized='incremental', engine='MergeTree()', order_by='id', unique_key='id', incremental_strategy='delete_insert') }}
select id, concat(name, '{{ var('suffix', '') }}') as name from {{ ref('numbered') }}
