{{ config(materialized='incremental', engine='MergeTree()', order_by='id', unique_key='id') }}
select id, concat(name, '{{ var('suffix', '') }}') as name from {{ ref('numbered') }}
{% if is_incremental() %}
where id > 1
{% endif %}
