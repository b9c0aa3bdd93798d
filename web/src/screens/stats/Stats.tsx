import { SegmentedControl } from '@mantine/core';
import { useState } from 'react';
import { type Period, useUsage } from '~/api/system';
import { PageHeader } from '~/components/PageHeader';
import { QueryView } from '~/components/QueryView';
import { useMessages } from '~/i18n';
import { UsageReport } from './UsageReport';

const PERIODS: Period[] = ['day', 'week', 'month', 'all'];

export default function Stats() {
  const messages = useMessages();
  const [period, setPeriod] = useState<Period>('week');
  const query = useUsage(period);
  return (
    <>
      <PageHeader title={messages.stats.title} lead={messages.stats.lead}>
        <SegmentedControl
          aria-label={messages.stats.period}
          value={period}
          data={PERIODS.map((value) => ({ value, label: messages.stats.periods[value] ?? value }))}
          onChange={(value) => setPeriod(value as Period)}
        />
      </PageHeader>
      <QueryView query={query}>{(usage) => <UsageReport usage={usage} period={period} />}</QueryView>
    </>
  );
}
