// Bring in an API or an archive, look at what came, then switch it on.
import { Button, Group, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ChangeEvent, type DragEvent, useRef, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { type Imported, toolsOf, useDeleteBundle, useImport, useSwitchBundle } from '~/api/tools';
import { useWords } from '~/i18n';
import { Icon } from '~/parts/Icon';
import { tell } from '~/parts/notify';
import { Card, Failed, Head, Loading, Note, Shown, Tag } from '~/parts/parts';
import css from './importer.module.css';
import page from './toolPage.module.css';

export default function Importer() {
  const words = useWords();
  const importing = useImport();
  const [baseUrl, setBaseUrl] = useState('');
  const take = (file: File | undefined) => file && importing.mutate({ file, baseUrl: baseUrl.trim() });
  return (
    <>
      <Link href="/tools" className={page.back}>
        <Icon name="left" size={15} /> {words.tool.back}
      </Link>
      <Head title={words.importer.title} lead={words.importer.lead} />
      {importing.data ? (
        <Review imported={importing.data} />
      ) : (
        <Card>
          <Drop onFile={take} />
          <TextInput mt="md" label={words.importer.baseUrl} description={words.importer.baseUrlHint} placeholder="https://api.example.com" value={baseUrl} onChange={(event) => setBaseUrl(event.currentTarget.value)} />
          {importing.isPending && <Loading />}
          {importing.error ? <Failed error={importing.error} /> : null}
        </Card>
      )}
    </>
  );
}

function Drop({ onFile }: { onFile: (file: File | undefined) => void }) {
  const words = useWords();
  const chooser = useRef<HTMLInputElement>(null);
  const [isOver, setOver] = useState(false);
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    onFile(event.dataTransfer.files[0]);
  };
  const choose = (event: ChangeEvent<HTMLInputElement>) => {
    onFile(event.currentTarget.files?.[0]);
    event.currentTarget.value = ''; // the same file may be chosen again
  };
  const over = (event: DragEvent) => {
    event.preventDefault();
    setOver(true);
  };
  return (
    <div className={css.drop} data-over={isOver || undefined} onDrop={drop} onDragOver={over} onDragLeave={() => setOver(false)}>
      <Icon name="upload" size={30} />
      <p>{words.importer.drop}</p>
      <input ref={chooser} type="file" accept=".json,.yaml,.yml,.zip" aria-label={words.importer.choose} hidden onChange={choose} />
      <Button variant="default" onClick={() => chooser.current?.click()}>
        {words.importer.choose}
      </Button>
    </div>
  );
}

function Review({ imported }: { imported: Imported }) {
  const words = useWords();
  const [, go] = useLocation();
  const switching = useSwitchBundle();
  const deleting = useDeleteBundle();
  const { bundle } = imported;
  const name = bundle.displayName || bundle.slug;
  const enable = () =>
    switching.mutate(
      { id: bundle.id, on: true },
      {
        onSuccess: () => {
          tell(words.importer.enabled(name));
          go('/tools');
        },
      },
    );
  return (
    <Card>
      <h2 className={css.heading}>{words.importer.review}</h2>
      <p>{words.importer.brought(imported.tools, name)}</p>
      <Listed title={words.importer.warnings} items={imported.warnings} mood="warn" />
      <Listed title={words.importer.hosts} items={imported.hosts} />
      <Listed title={words.importer.secrets} items={imported.secrets} />
      <Listed title={words.importer.skipped} items={imported.skipped} />
      <h3 className={css.heading}>{words.importer.tools}</h3>
      <Brought bundleID={bundle.id} />
      {switching.error || deleting.error ? <Failed error={switching.error ?? deleting.error} /> : null}
      <Group mt="lg">
        <Button onClick={enable} loading={switching.isPending}>
          {words.importer.enable}
        </Button>
        <Button variant="default" component={Link} href="/tools">
          {words.importer.later}
        </Button>
        <Button variant="subtle" color="red" loading={deleting.isPending} onClick={() => deleting.mutate(bundle.id, { onSuccess: () => go('/tools') })}>
          {words.importer.discard}
        </Button>
      </Group>
    </Card>
  );
}

function Listed({ title, items, mood = 'plain' }: { title: string; items?: string[]; mood?: 'plain' | 'warn' }) {
  if (!items?.length) return null;
  return (
    <div className={css.listed}>
      <Note mood={mood}>
        <strong>{title}</strong>
        <ul>
          {items.map((item) => (
            <li key={item}>
              <code>{item}</code>
            </li>
          ))}
        </ul>
      </Note>
    </div>
  );
}

function Brought({ bundleID }: { bundleID: string }) {
  const asked = useQuery({ queryKey: ['tools', 'imported', bundleID], queryFn: () => toolsOf(bundleID) });
  return (
    <Shown asked={asked}>
      {(first) => (
        <ul className={css.tools}>
          {first.toolListItems.map((tool) => (
            <li key={tool.id}>
              <Tag mood="accent">{tool.slug}</Tag> {tool.description.split('\n')[0]}
            </li>
          ))}
          {first.nextPageToken && <li>…</li>}
        </ul>
      )}
    </Shown>
  );
}
