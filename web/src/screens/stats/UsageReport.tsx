import { lazy, Suspense } from 'react';
import type { Period, Usage } from '~/api/system';
import { Card } from '~/components/Card';
import { EmptyAction } from '~/components/EmptyAction';
import { EmptyState } from '~/components/EmptyState';
import { Loading } from '~/components/Loading';
import { useLanguage } from '~/i18n';
import { Metric } from './Metric';
import css from './stats.module.css';
import { ToolTable } from './ToolTable';

const CallsChart = lazy(() => import('./CallsChart'));

export function UsageReport({ usage, period }: { usage: Usage; period: Period }) {
  const { locale, messages } = useLanguage();
  const formatNumber = (value: number) => value.toLocaleString(locale, { maximumFractionDigits: 1 });
  return (
    <>
      <dl className={css.metrics}>
        <Metric name={messages.stats.calls}>{formatNumber(usage.totalCalls)}</Metric>
        <Metric name={messages.stats.successRate}>{formatNumber(usage.successRate)} %</Metric>
        <Metric name={messages.stats.tokensSaved}>{formatNumber(usage.contextSaved)}</Metric>
        <Metric name={messages.stats.timeSaved}>{messages.stats.hours(usage.timeSavedMs / 3_600_000)}</Metric>
      </dl>
      {usage.totalCalls === 0 ? (
        <Card>
          <EmptyState title={messages.stats.emptyTitle} icon="stats">
            <p>{messages.stats.emptyHint}</p>
            <EmptyAction href="/tools" label={messages.emptyStates.tryTool} />
          </EmptyState>
        </Card>
      ) : (
        <>
          <Card className={css.chart}>
            <h2>{messages.stats.chart}</h2>
            <Suspense fallback={<Loading />}>
              <CallsChart hours={usage.hours} period={period} />
            </Suspense>
          </Card>
          <ToolTable tools={usage.tools} formatNumber={formatNumber} />
        </>
      )}
      <p className={css.muted}>{messages.stats.refreshNote}</p>
    </>
  );
}
