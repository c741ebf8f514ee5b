"""On which terms orders are delivered, by country. Without rows, delivery stays free everywhere."""

import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('shop', '0002_products_by_words'),
    ]

    operations = [
        migrations.CreateModel(
            name='DeliveryTerms',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('country', models.CharField(blank=True, help_text='ISO 3166 code, as in DE; empty for every other country', max_length=2, validators=[django.core.validators.RegexValidator('^[A-Z]{2}$', 'Enter a two-letter code in capitals, such as DE.')])),
                ('currency', models.CharField(default='EUR', max_length=3, validators=[django.core.validators.RegexValidator('^[A-Z]{3}$', 'Enter a three-letter code in capitals, such as EUR.')])),
                ('price', models.PositiveIntegerField(help_text='minor units, as in 690 for 6.90; 0 is free')),
                ('fewest_days', models.PositiveSmallIntegerField(help_text='working days from the order to the door, at least', validators=[django.core.validators.MinValueValidator(1)])),
                ('most_days', models.PositiveSmallIntegerField(help_text='working days from the order to the door, at most', validators=[django.core.validators.MaxValueValidator(99)])),
                ('tax_rate', models.PositiveSmallIntegerField(default=0, help_text='of the tax that prices include, in hundredths of a percent, as in 2100 for 21 %; 0 without tax', validators=[django.core.validators.MaxValueValidator(5000)])),
            ],
            options={
                'verbose_name': 'delivery terms',
                'verbose_name_plural': 'delivery terms',
                'ordering': ('currency', 'country'),
                'constraints': [models.UniqueConstraint(fields=('country', 'currency'), name='one_delivery_per_country_and_currency'), models.CheckConstraint(condition=models.Q(('country', ''), ('country__regex', '^[A-Z]{2}$'), _connector='OR'), name='delivery_goes_to_a_country_or_every_other'), models.CheckConstraint(condition=models.Q(('currency__regex', '^[A-Z]{3}$')), name='delivery_is_paid_in_a_currency'), models.CheckConstraint(condition=models.Q(('fewest_days__gte', 1), ('fewest_days__lte', models.F('most_days')), ('most_days__lte', 99)), name='delivery_takes_from_the_fewest_days_to_the_most'), models.CheckConstraint(condition=models.Q(('tax_rate__lte', 5000)), name='tax_is_at_most_half_of_a_price')],
            },
        ),
    ]
