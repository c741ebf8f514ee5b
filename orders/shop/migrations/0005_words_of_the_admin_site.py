"""What the admin site says of prices, rates and mistakes. Nothing of it is in the database."""

import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('shop', '0004_stock_of_products'),
    ]

    operations = [
        migrations.AlterField(
            model_name='deliveryterms',
            name='country',
            field=models.CharField(blank=True, help_text='ISO 3166 code, as in DE. Leave it empty for every other country. As soon as a currency has any terms, a country without terms in it is only served if there are terms for every other country.', max_length=2, validators=[django.core.validators.RegexValidator('^[A-Z]{2}$', 'Enter a two-letter code in capitals, such as DE.')]),
        ),
        migrations.AlterField(
            model_name='deliveryterms',
            name='fewest_days',
            field=models.PositiveSmallIntegerField(help_text='Working days from the order to the door, at least.', validators=[django.core.validators.MinValueValidator(1)]),
        ),
        migrations.AlterField(
            model_name='deliveryterms',
            name='most_days',
            field=models.PositiveSmallIntegerField(help_text='Working days from the order to the door, at most.', validators=[django.core.validators.MaxValueValidator(99)]),
        ),
        migrations.AlterField(
            model_name='deliveryterms',
            name='price',
            field=models.PositiveIntegerField(help_text='In minor units of the currency: 690 for €6.90, 0 if delivery is free.'),
        ),
        migrations.AlterField(
            model_name='deliveryterms',
            name='tax_rate',
            field=models.PositiveSmallIntegerField(default=0, help_text='In hundredths of a percent: 2100 for 21%, 0 if prices include no tax.', validators=[django.core.validators.MaxValueValidator(5000)]),
        ),
        migrations.AlterField(
            model_name='product',
            name='edition_size',
            field=models.PositiveIntegerField(blank=True, help_text='How many numbered prints there are of a signed edition, never fewer than are sold. Leave it empty if they have no numbers.', null=True),
        ),
        migrations.AlterField(
            model_name='product',
            name='price',
            field=models.PositiveIntegerField(help_text='In minor units of the currency: 3900 for €39.00. It includes the tax.'),
        ),
        migrations.AlterField(
            model_name='product',
            name='rank',
            field=models.PositiveIntegerField(default=1000, help_text='Its position among the featured posters, lowest first.'),
        ),
        migrations.AlterField(
            model_name='product',
            name='size',
            field=models.CharField(blank=True, help_text='In centimetres, as in 30x40.', max_length=12),
        ),
        migrations.AlterConstraint(
            model_name='deliveryterms',
            name='one_delivery_per_country_and_currency',
            constraint=models.UniqueConstraint(fields=('country', 'currency'), name='one_delivery_per_country_and_currency', violation_error_message='There are terms for this country and currency already.'),
        ),
        migrations.AlterConstraint(
            model_name='deliveryterms',
            name='delivery_goes_to_a_country_or_every_other',
            constraint=models.CheckConstraint(condition=models.Q(('country', ''), ('country__regex', '^[A-Z]{2}$'), _connector='OR'), name='delivery_goes_to_a_country_or_every_other', violation_error_message='The country must be a two-letter code in capitals, or empty.'),
        ),
        migrations.AlterConstraint(
            model_name='deliveryterms',
            name='delivery_is_paid_in_a_currency',
            constraint=models.CheckConstraint(condition=models.Q(('currency__regex', '^[A-Z]{3}$')), name='delivery_is_paid_in_a_currency', violation_error_message='The currency must be a three-letter code in capitals.'),
        ),
        migrations.AlterConstraint(
            model_name='deliveryterms',
            name='delivery_takes_from_the_fewest_days_to_the_most',
            constraint=models.CheckConstraint(condition=models.Q(('fewest_days__gte', 1), ('fewest_days__lte', models.F('most_days')), ('most_days__lte', 99)), name='delivery_takes_from_the_fewest_days_to_the_most', violation_error_message='The fewest days can’t be more than the most days.'),
        ),
        migrations.AlterConstraint(
            model_name='deliveryterms',
            name='tax_is_at_most_half_of_a_price',
            constraint=models.CheckConstraint(condition=models.Q(('tax_rate__lte', 5000)), name='tax_is_at_most_half_of_a_price', violation_error_message='The tax rate can’t be more than 50%.'),
        ),
        migrations.AlterConstraint(
            model_name='product',
            name='product_has_a_price',
            constraint=models.CheckConstraint(condition=models.Q(('price__gt', 0)), name='product_has_a_price', violation_error_message='The price must be more than 0.'),
        ),
        migrations.AlterConstraint(
            model_name='product',
            name='product_is_no_variant_of_itself',
            constraint=models.CheckConstraint(condition=models.Q(('variant_of', None), models.Q(('variant_of', models.F('sku')), _negated=True), _connector='OR'), name='product_is_no_variant_of_itself', violation_error_message='A product can’t be a variant of itself.'),
        ),
        migrations.AlterConstraint(
            model_name='product',
            name='one_variant_per_size_and_edition',
            constraint=models.UniqueConstraint(fields=('variant_of', 'size', 'edition'), name='one_variant_per_size_and_edition', violation_error_message='This poster already has a variant of this size and edition.'),
        ),
        migrations.AlterConstraint(
            model_name='product',
            name='stock_was_read_at_a_time',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('stock', None), ('stock_read_at', None)), models.Q(('stock__isnull', False), ('stock_read_at__isnull', False)), _connector='OR'), name='stock_was_read_at_a_time', violation_error_message='A stock needs the time when it was read, and only a stock has one.'),
        ),
        migrations.AlterConstraint(
            model_name='product',
            name='only_a_signed_edition_is_numbered',
            constraint=models.CheckConstraint(condition=models.Q(('edition_size', None), models.Q(('edition', 'signed'), ('edition_size__gte', 1), ('edition_size__lte', 9999)), _connector='OR'), name='only_a_signed_edition_is_numbered', violation_error_message='Only a signed edition has numbers, from 1 to 9,999 of them.'),
        ),
    ]
