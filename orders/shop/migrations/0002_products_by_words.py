"""Finds posters by the words in them, by an index (docs/adr/0080). The shop goes on meanwhile.

A build that was interrupted leaves an index that is not valid, so it is dropped first.
"""

from django.db import migrations

BY_WORDS = r"""
CREATE INDEX CONCURRENTLY product_by_words ON orders_product USING gin (
    to_tsvector('simple', translate(regexp_replace(normalize(title || ' ' || artist || ' ' || description || ' '
        || coalesce(design ->> 'family', ''), NFKD), '[\u0300-\u036f]', '', 'g'),
        'øłđıØŁĐ.-/''_@:', 'oldioLD       ')))
"""


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("shop", "0001_initial")]

    operations = [
        migrations.RunSQL(
            "DROP INDEX CONCURRENTLY IF EXISTS product_by_words", migrations.RunSQL.noop
        ),
        migrations.RunSQL(BY_WORDS, "DROP INDEX CONCURRENTLY IF EXISTS product_by_words"),
    ]
