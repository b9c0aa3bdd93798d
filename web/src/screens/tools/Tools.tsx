// The Tools screen: every bundle with its switch, every tool with its versions, and the search.
import { Button, Switch, TextInput } from '@mantine/core';
import { useDebouncedValue, useDisclosure } from '@mantine/hooks';
import { useCallback, useMemo, useState } from 'react';
import { Link, useSearchParams } from 'wouter';
import { flat, useBundles, useSearch } from '~/api/tools';
import { useWords } from '~/i18n';
import { Icon } from '~/parts/Icon';
import { Empty, Failed, Head, Shown, TagButton } from '~/parts/parts';
import { BundleLoader } from './BundleLoader';
import { NewBundle } from './NewBundle';
import { bundleRows, type Held, toolRows } from './rows';
import css from './tools.module.css';
import { ToolList } from './ToolList';

/** So many bundles are shown open from the start. */
const FEW = 6;

export default function Tools() {
  const words = useWords();
  const [search, setSearch] = useSearchParams(); // so that it is there again when one comes back from a tool
  const text = search.get('q') ?? '';
  const setText = (q: string) => setSearch(q ? { q } : {}, { replace: true });
  const [q] = useDebouncedValue(text.trim(), 120);
  const [tag, setTag] = useState<string | null>(null);
  const [showOff, setShowOff] = useState(true);
  const [isNaming, naming] = useDisclosure(false);
  const [made, setMade] = useState<string>();
  return (
    <>
      <Head title={words.tools.title} lead={words.tools.lead}>
        <div className={css.actions}>
          <Button component={Link} href="/tools/new" leftSection={<Icon name="plus" size={16} />}>
            {words.tools.newTool}
          </Button>
          <Button variant="default" onClick={naming.open}>
            {words.tools.newBundle}
          </Button>
          <Button variant="default" component={Link} href="/tools/import" leftSection={<Icon name="upload" size={16} />}>
            {words.tools.import}
          </Button>
        </div>
      </Head>
      <div className={css.bar}>
        <TextInput
          className={css.search}
          type="search"
          aria-label={words.tools.search}
          placeholder={words.tools.searchHint}
          leftSection={<Icon name="search" size={16} />}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        {tag && (
          <TagButton label={words.tools.clearTag(tag)} pressed onClick={() => setTag(null)}>
            {tag} <Icon name="close" size={12} />
          </TagButton>
        )}
        <Switch label={words.tools.showOff} checked={showOff} onChange={(event) => setShowOff(event.currentTarget.checked)} />
      </div>
      {q ? <Found q={q} showOff={showOff} tag={tag} onTag={setTag} /> : <Bundles showOff={showOff} tag={tag} onTag={setTag} made={made} />}
      <NewBundle opened={isNaming} onClose={naming.close} onCreated={(bundle) => setMade(bundle.id)} />
    </>
  );
}

interface Filter {
  showOff: boolean;
  tag: string | null;
  onTag: (tag: string) => void;
}

function Found({ q, showOff, tag, onTag }: Filter & { q: string }) {
  const words = useWords();
  const found = useSearch(q, showOff);
  const { fetchNextPage, hasNextPage } = found;
  const rows = useMemo(() => {
    const tools = flat(found.data).filter((tool) => tag === null || tool.tags.includes(tag));
    const made = toolRows(tools);
    if (hasNextPage) made.push({ kind: 'more', key: '+', loadMore: () => void fetchNextPage() });
    return made;
  }, [found.data, tag, hasNextPage, fetchNextPage]);
  if (found.error) return <Failed error={found.error} retry={() => found.refetch()} />;
  if (found.data && rows.length === 0) {
    return (
      <Empty title={words.tools.noneTitle}>
        <p>
          {words.tools.none(q)} {showOff ? '' : words.tools.noneOff}
        </p>
      </Empty>
    );
  }
  return <ToolList rows={rows} onTag={onTag} onToggle={() => {}} withBundle />;
}

/** A filter, and the bundle that was just made: it shall be seen. */
type Listed = Filter & { made: string | undefined };

function Bundles(props: Listed) {
  const bundles = useBundles();
  return (
    <Shown asked={bundles}>
      {(all) => <Opened all={all} {...props} />}
    </Shown>
  );
}

function Opened({ all, showOff, tag, onTag, made }: Listed & { all: NonNullable<ReturnType<typeof useBundles>['data']> }) {
  const [folded, setFolded] = useState<ReadonlySet<string>>(() => new Set(all.slice(FEW).map((one) => one.id)));
  const [held, setHeld] = useState<ReadonlyMap<string, Held>>(new Map());
  const keep = useCallback((id: string, one: Held) => setHeld((before) => new Map(before).set(id, one)), []);
  const toggle = useCallback((id: string) => {
    setFolded((before) => {
      const after = new Set(before);
      if (!after.delete(id)) after.add(id);
      return after;
    });
  }, []);
  const shown = useMemo(() => all.filter((one) => showOff || one.isEnabled), [all, showOff]);
  const open = useMemo(() => new Set(shown.filter((one) => !folded.has(one.id)).map((one) => one.id)), [shown, folded]);
  const rows = useMemo(() => bundleRows(shown, open, held), [shown, open, held]);
  return (
    <>
      {[...open].map((id) => (
        <BundleLoader key={id} id={id} tag={tag} showOff={showOff} onHeld={keep} />
      ))}
      <ToolList rows={rows} onTag={onTag} onToggle={toggle} shown={made} />
    </>
  );
}
