// Calls over time as bars.
import '@mantine/charts/styles.css';
import { BarChart } from '@mantine/charts';
import { useMemo } from 'react';
import { useLanguage, useWords } from '~/i18n';
import { type Hour, spansOf } from './spans';

export default function Chart({ hours, period }: { hours: Hour[]; period: string }) {
  const words = useWords();
  const { locale } = useLanguage();
  const data = useMemo(() => {
    const shape: Intl.DateTimeFormatOptions = period === 'day' ? { hour: '2-digit', minute: '2-digit' } : period === 'week' ? { weekday: 'short', hour: '2-digit' } : { day: 'numeric', month: 'short' };
    return spansOf(hours, period).map((span) => ({ ...span, when: new Date(span.at * 1000).toLocaleString(locale, shape) }));
  }, [hours, period, locale]);
  return (
    <div role="img" aria-label={words.stats.overTime}>
      <BarChart
        h={240}
        data={data}
        dataKey="when"
        type="stacked"
        withLegend
        legendProps={{ verticalAlign: 'bottom' }}
        barProps={{ isAnimationActive: false }}
        valueFormatter={(value) => value.toLocaleString(locale)}
        series={[
          { name: 'ok', label: words.stats.ok, color: 'var(--bar-ok)' },
          { name: 'failed', label: words.stats.failed, color: 'var(--bar-failed)' },
        ]}
      />
    </div>
  );
}
