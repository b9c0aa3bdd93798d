import { type Tool, useBundles } from '~/api/tools';
import { PageHeader } from '~/components/PageHeader';
import { QueryView } from '~/components/QueryView';
import { useMessages } from '~/i18n';
import { EditorTabs } from './EditorTabs';
import { NEW_BUNDLE } from './target';
import { nextVersion } from './versions';

interface Props {
  title: string;
  bundleID: string | null;
  /** The version to start from. A new tool has none. */
  base?: Tool;
  existingVersions?: string[];
}

export function EditorLoader({ title, bundleID, base, existingVersions = [] }: Props) {
  const messages = useMessages();
  const query = useBundles();
  return (
    <>
      <PageHeader title={title} lead={messages.editor.lead} />
      <QueryView query={query}>
        {(bundles) => {
          const writable = bundles.filter(({ origin, isEnabled }) => origin === 'bundle' && isEnabled);
          const initialTarget = {
            bundle: bundleID ?? writable[0]?.id ?? NEW_BUNDLE,
            bundleSlug: '',
            slug: base?.slug ?? '',
            version: nextVersion(existingVersions),
          };
          return <EditorTabs bundles={writable} base={base} initialTarget={initialTarget} />;
        }}
      </QueryView>
    </>
  );
}
