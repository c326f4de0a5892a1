CREATE TABLE verdicts (
    page_id text PRIMARY KEY,
    verdict jsonb NOT NULL,
    kind text GENERATED ALWAYS AS (verdict->>'kind') STORED,
    cluster_id text GENERATED ALWAYS AS (verdict->>'cluster_id') STORED,
    canonical_page_id text GENERATED ALWAYS AS (verdict->>'canonical_page_id') STORED,
    same_url boolean GENERATED ALWAYS AS ((verdict->>'same_url')::boolean) STORED,
    similarity double precision GENERATED ALWAYS AS ((verdict->>'similarity')::double precision) STORED,
    publisher text GENERATED ALWAYS AS (verdict->'metadata'->>'publisher') STORED
);
CREATE INDEX verdicts_by_cluster ON verdicts (cluster_id);

-- Pages to keep: what is not a duplicate of another page. The last verdict on a page that was crawled again has `same_url`.
CREATE VIEW kept AS SELECT * FROM verdicts WHERE kind NOT LIKE '%\_DUPLICATE' OR same_url;

-- Clusters, and who has published the text.
CREATE VIEW clusters AS
    SELECT cluster_id, count(*) AS pages, array_agg(DISTINCT publisher) AS publishers
    FROM verdicts WHERE cluster_id IS NOT NULL GROUP BY cluster_id;
