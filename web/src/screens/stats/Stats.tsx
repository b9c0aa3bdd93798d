// The figures of the report, live.
import { SegmentedControl } from '@mantine/core';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { type Period, useUsage } from '~/api/system';
import { useLanguage, useWords } from '~/i18n';
import { Card, Columns, Empty, Head, Loading, Shown } from '~/parts/parts';
import css from './stats.module.css';

const Chart = lazy(() => import('./Chart'));
type Usage = NonNullable<ReturnType<typeof useUsage>['data']>;

export default function Stats() {
  const words = useWords();
  const [period, setPeriod] = useState<Period>('week');
  const usage = useUsage(period);
  return (
    <>
      <Head title={words.stats.title} lead={words.stats.lead}>
        <SegmentedControl aria-label={words.stats.period} value={period} data={(['day', 'week', 'month', 'all'] as const).map((value) => ({ value, label: words.stats.periods[value] ?? value }))} onChange={(value) => setPeriod(value as Period)} />
      </Head>
      <Shown asked={usage}>{(figures) => <Figures figures={figures} period={period} />}</Shown>
    </>
  );
}

function Figures({ figures, period }: { figures: Usage; period: Period }) {
  const words = useWords();
  const { locale } = useLanguage();
  const number = (value: number) => value.toLocaleString(locale, { maximumFractionDigits: 1 });
  return (
    <>
      <dl className={css.figures}>
        <Figure name={words.stats.calls}>{number(figures.totalCalls)}</Figure>
        <Figure name={words.stats.success}>{number(figures.successRate)} %</Figure>
        <Figure name={words.stats.tokens}>{number(figures.contextSaved)}</Figure>
        <Figure name={words.stats.time}>{words.stats.hours(figures.timeSavedMs / 3_600_000)}</Figure>
      </dl>
      {figures.totalCalls === 0 ? (
        <Card>
          <Empty title={words.stats.none} icon="stats">
            <p>{words.stats.noneHint}</p>
          </Empty>
        </Card>
      ) : (
        <>
          <Card className={css.chart}>
            <h2>{words.stats.overTime}</h2>
            <Suspense fallback={<Loading />}>
              <Chart hours={figures.hours} period={period} />
            </Suspense>
          </Card>
          <ByTool figures={figures} number={number} />
        </>
      )}
      <p className={css.soft}>{words.stats.live}</p>
    </>
  );
}

function Figure({ name, children }: { name: string; children: ReactNode }) {
  return (
    <Card>
      <dt className={css.soft}>{name}</dt>
      <dd className={css.figure}>{children}</dd>
    </Card>
  );
}

function ByTool({ figures, number }: { figures: Usage; number: (value: number) => string }) {
  const words = useWords();
  const tools = Object.entries(figures.tools).sort(([, a], [, b]) => b.calls - a.calls);
  const most = tools[0]?.[1].calls ?? 1;
  return (
    <Card className={css.byTool}>
      <h2>{words.stats.byTool}</h2>
      <div className={css.scroll} tabIndex={0} role="region" aria-label={words.stats.byTool}>
        <table>
          <Columns names={[words.stats.tool, words.stats.calls, words.stats.success, words.stats.mean, words.stats.longest]} />
          <tbody>
            {tools.map(([name, tool]) => (
              <tr key={name}>
                <th scope="row">
                  <code>{name}</code>
                  <span className={css.share} style={{ width: `${(100 * tool.calls) / most}%` }} />
                </th>
                <td>{number(tool.calls)}</td>
                <td>{number(tool.successRate)} %</td>
                <td>{words.common.ms(tool.meanMs)}</td>
                <td>{words.common.ms(tool.maxMs)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}
