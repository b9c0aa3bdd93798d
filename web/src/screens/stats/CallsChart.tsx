import '@mantine/charts/styles.css';
import { BarChart } from '@mantine/charts';
import { useMemo } from 'react';
import type { Period } from '~/api/system';
import { useLanguage } from '~/i18n';
import { bucketCalls, type HourlyCalls } from './buckets';

const DAY_FORMAT: Intl.DateTimeFormatOptions = { day: 'numeric', month: 'short' };
const LABEL_FORMATS: Record<Period, Intl.DateTimeFormatOptions> = {
  day: { hour: '2-digit', minute: '2-digit' },
  week: { weekday: 'short', hour: '2-digit' },
  month: DAY_FORMAT,
  all: DAY_FORMAT,
};

export default function CallsChart({ hours, period }: { hours: HourlyCalls[]; period: Period }) {
  const { locale, messages } = useLanguage();
  const data = useMemo(() => {
    const label = (at: number) => new Date(at * 1000).toLocaleString(locale, LABEL_FORMATS[period]);
    return bucketCalls(hours, period).map((bucket) => ({ ...bucket, label: label(bucket.at) }));
  }, [hours, period, locale]);
  return (
    <div role="img" aria-label={messages.stats.chart}>
      <BarChart
        h={240}
        data={data}
        dataKey="label"
        type="stacked"
        withLegend
        legendProps={{ verticalAlign: 'bottom' }}
        barProps={{ isAnimationActive: false }}
        valueFormatter={(value) => value.toLocaleString(locale)}
        series={[
          { name: 'succeeded', label: messages.stats.succeeded, color: 'var(--chart-succeeded)' },
          { name: 'failed', label: messages.stats.failed, color: 'var(--chart-failed)' },
        ]}
      />
    </div>
  );
}
