import { Button, Switch, TextInput } from '@mantine/core';
import { useDebouncedValue, useDisclosure } from '@mantine/hooks';
import { useState } from 'react';
import { Link, useSearchParams } from 'wouter';
import { Icon } from '~/components/Icon';
import { PageHeader } from '~/components/PageHeader';
import { TagButton } from '~/components/TagButton';
import { useMessages } from '~/i18n';
import { Welcome } from '~/layout/Welcome';
import { BundleListLoader } from './BundleListLoader';
import { NewBundleDialog } from './NewBundleDialog';
import { SearchResults } from './SearchResults';
import css from './tools.module.css';

export default function Tools() {
  const messages = useMessages();
  // In the URL, so that the browser's back button restores the search.
  const [params, setParams] = useSearchParams();
  const text = params.get('q') ?? '';
  const setText = (q: string) => setParams(q ? { q } : {}, { replace: true });
  const [q] = useDebouncedValue(text.trim(), 120);
  const [tag, setTag] = useState<string | null>(null);
  const [showDisabled, setShowDisabled] = useState(true);
  const [isDialogOpen, dialog] = useDisclosure(false);
  const [newBundle, setNewBundle] = useState<string>();
  const filter = { showDisabled, tag, onTag: setTag };
  return (
    <>
      <PageHeader title={messages.tools.title} lead={messages.tools.lead}>
        <div className={css.actions}>
          <Button component={Link} href="/tools/new" leftSection={<Icon name="plus" size={16} />}>
            {messages.tools.newTool}
          </Button>
          <Button variant="default" onClick={dialog.open}>
            {messages.tools.newBundle}
          </Button>
          <Button
            variant="default"
            component={Link}
            href="/tools/import"
            leftSection={<Icon name="upload" size={16} />}
          >
            {messages.tools.import}
          </Button>
        </div>
      </PageHeader>
      <Welcome />
      <div className={css.bar}>
        <TextInput
          className={css.search}
          type="search"
          aria-label={messages.tools.search}
          placeholder={messages.tools.searchPlaceholder}
          leftSection={<Icon name="search" size={16} />}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        {tag && (
          <TagButton label={messages.tools.clearTagFilter(tag)} pressed onClick={() => setTag(null)}>
            {tag} <Icon name="close" size={12} />
          </TagButton>
        )}
        <Switch
          label={messages.tools.showDisabled}
          checked={showDisabled}
          onChange={(event) => setShowDisabled(event.currentTarget.checked)}
        />
      </div>
      {q ? <SearchResults q={q} {...filter} /> : <BundleListLoader newBundle={newBundle} {...filter} />}
      <NewBundleDialog opened={isDialogOpen} onClose={dialog.close} onCreated={(bundle) => setNewBundle(bundle.id)} />
    </>
  );
}
