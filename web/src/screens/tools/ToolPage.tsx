// One tool: its versions, its tester, its definition.
import { Button, Group, Select, Switch, Tabs } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { lazy, Suspense, useState } from 'react';
import { Link, useLocation, useParams } from 'wouter';
import { decoded } from '~/api/address';
import { type Tool, useBundles, useDeleteTool, useSwitchTool, useVersions } from '~/api/tools';
import { useLanguage, useWords } from '~/i18n';
import { Confirm } from '~/parts/Confirm';
import { Icon } from '~/parts/Icon';
import { tell, tellFailure } from '~/parts/notify';
import { Card, Copy, Empty, Loading, Note, Shown, Tag } from '~/parts/parts';
import { Tester } from '~/screens/tester/Tester';
import { mainOf } from './rows';
import css from './toolPage.module.css';
import { pageOf } from './ToolRow';

const Editor = lazy(() => import('~/parts/Editor'));

export default function ToolPage() {
  const words = useWords();
  const { bundle = '', tool = '' } = useParams();
  const versions = useVersions(bundle, decoded(tool));
  return (
    <>
      <Link href="/tools" className={css.back}>
        <Icon name="left" size={15} /> {words.tool.back}
      </Link>
      <Shown asked={versions}>
        {(all) =>
          all.length ? (
            <Page versions={all} />
          ) : (
            <Empty title={words.tool.gone} icon="tools">
              <p>{words.tool.goneHint}</p>
            </Empty>
          )
        }
      </Shown>
    </>
  );
}

function Page({ versions }: { versions: Tool[] }) {
  const words = useWords();
  const [chosen, setChosen] = useState<string | null>(null);
  const tool = versions.find((one) => one.version === chosen) ?? mainOf(versions);
  return (
    <>
      <Title tool={tool} versions={versions} onVersion={setChosen} />
      {tool.disabledReason && (
        <Note mood="warn">
          <strong>{words.tool.unavailable}.</strong> {tool.disabledReason}
        </Note>
      )}
      <Tabs defaultValue="try" mt="md" keepMounted={false}>
        <Tabs.List mb="md">
          <Tabs.Tab value="try">{words.tool.try}</Tabs.Tab>
          <Tabs.Tab value="definition">{words.tool.definition}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="try">
          <Tester key={tool.id} tool={tool} />
        </Tabs.Panel>
        <Tabs.Panel value="definition">
          <Definition tool={tool} />
        </Tabs.Panel>
      </Tabs>
    </>
  );
}

interface TitleProps {
  tool: Tool;
  versions: Tool[];
  onVersion: (version: string | null) => void;
}

function Title({ tool, versions, onVersion }: TitleProps) {
  const words = useWords();
  const switching = useSwitchTool();
  const bundles = useBundles();
  const bundle = bundles.data?.find((one) => one.id === tool.bundleID);
  const isOurs = bundle?.origin === 'bundle';
  return (
    <header className={css.title}>
      <div className={css.name}>
        <h1>{tool.displayName || tool.slug}</h1>
        <p>{tool.description}</p>
        <Facts tool={tool} origin={bundle?.origin} />
      </div>
      <div className={css.side}>
        <Switch
          label={tool.isEnabled ? words.common.on : words.common.off}
          aria-label={words.tools.switchTool(tool.name)}
          checked={tool.isEnabled}
          disabled={switching.isPending || bundle?.isEnabled === false}
          onChange={(event) => switching.mutate({ versions: [tool], on: event.currentTarget.checked }, { onError: tellFailure })}
        />
        {(versions.length > 1 || isOurs) && (
          <Select
            size="sm"
            className={css.version}
            aria-label={words.tool.version}
            data={versions.map((one) => one.version)}
            value={tool.version}
            allowDeselect={false}
            onChange={onVersion}
          />
        )}
        {isOurs && <Owned tool={tool} isLast={versions.length === 1} />}
      </div>
    </header>
  );
}

function Facts({ tool, origin }: { tool: Tool; origin?: string }) {
  const words = useWords();
  const { locale } = useLanguage();
  const when = tool.lastCalledAt && new Date(tool.lastCalledAt).toLocaleString(locale);
  return (
    <Group gap={6} mt="xs">
      <Tag mood="accent">+{tool.slug}</Tag>
      <Tag>
        <code title={words.tool.callName}>{tool.name}</code>
      </Tag>
      <Tag>{words.tool.type[tool.type] ?? tool.type}</Tag>
      {origin && <Tag icon={origin === 'bundle' ? undefined : 'lock'}>{words.tools.origin[origin] ?? origin}</Tag>}
      {tool.tags.map((tag) => (
        <Tag key={tag}>#{tag}</Tag>
      ))}
      <span className={css.soft}>
        {words.tools.calls(tool.callCount)}, {when ? words.tool.lastCalled(when) : words.tool.neverCalled}
      </span>
    </Group>
  );
}

/** What can be done with a tool that is stored here. */
function Owned({ tool, isLast }: { tool: Tool; isLast: boolean }) {
  const words = useWords();
  const [, go] = useLocation();
  const deleting = useDeleteTool();
  const [asks, ask] = useDisclosure(false);
  const decline = () => {
    ask.close();
    deleting.reset();
  };
  const gone = () => {
    ask.close();
    tell(words.tools.deleted(`${tool.slug} ${tool.version}`));
    if (isLast) go('/tools');
  };
  return (
    <>
      <Button component={Link} href={`${pageOf(tool)}/new?version=${encodeURIComponent(tool.version)}`} variant="default" leftSection={<Icon name="edit" size={15} />}>
        {words.tool.newVersion}
      </Button>
      <Button variant="default" color="red" onClick={ask.open} leftSection={<Icon name="trash" size={15} />}>
        {words.tools.deleteTool}
      </Button>
      <Confirm
        opened={asks}
        title={words.tools.deleteToolTitle(tool.slug, tool.version)}
        text={words.tools.deleteToolText}
        busy={deleting.isPending}
        error={deleting.error}
        onConfirm={() => void deleting.mutateAsync(tool).then(gone, () => {})}
        onClose={decline}
      />
    </>
  );
}

function Definition({ tool }: { tool: Tool }) {
  const words = useWords();
  const text = JSON.stringify(tool, null, 2);
  return (
    <Card>
      <Group justify="space-between" mb="sm">
        <span className={css.soft}>{tool.isBuiltIn ? words.tools.readOnly : ''}</span>
        <Copy text={text} />
      </Group>
      <Suspense fallback={<Loading />}>
        <Editor label={words.tool.definition} language="json" value={text} readOnly />
      </Suspense>
    </Card>
  );
}
