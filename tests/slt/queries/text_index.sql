-- Words are searched as the text index of what is searched has them, also in parts without the index.
create table texts (id UInt32, message String, note String) engine = MergeTree order by id;
insert into texts values (1, 'red green blue', 'Abc'), (2, 'red green# blue', 'abC'), (3, 'yellow, blue', 'x');
select id, hasAnyTokens(message, ['green']), hasAllTokens(message, 'green# blue'), hasAnyTokens(message, 'green#') from texts order by id;
alter table texts add index words message type text(tokenizer = 'splitByString');
insert into texts values (4, 'green', 'abcd'), (5, 'green#', ''), (6, 'yellow green', 'ABC');
select id, hasAnyTokens(message, ['green']), hasAllTokens(message, 'green# blue'), hasAnyTokens(message, 'green#') from texts order by id;
select id from texts where hasAnyTokens(message, ['green']) order by id;
select id from texts where hasAnyTokens(message, 'green#') order by id;
select id from texts where hasAllTokens(message, ['red', 'blue']) order by id;
select id from texts where hasAnyTokens(message, ['green'], 'splitByNonAlpha') order by id;
select id from texts where hasAnyTokens(message, ['green']) order by id settings use_skip_indexes = 0;
alter table texts add index grams lower(note) type text(tokenizer = ngrams(3));
select id from texts where hasAnyTokens(lower(note), 'xabcx') order by id;
select id from texts where hasAnyTokens(note, 'xabcx') order by id;
select id from texts where hasAllTokens(lower(note), ['abc', 'bcd']) order by id;
alter table texts materialize index grams settings mutations_sync = 2;
select id from texts where hasAllTokens(lower(note), ['abc', 'bcd']) order by id;
drop table texts;
