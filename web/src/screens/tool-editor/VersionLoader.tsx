import { useVersions } from '~/api/tools';
import { QueryView } from '~/components/QueryView';
import { useMessages } from '~/i18n';
import { mainVersion } from '~/screens/tools/rows';
import { EditorLoader } from './EditorLoader';

interface Props {
  bundleID: string;
  slug: string;
  version: string | null;
}

/** Loads the version that the new one is based on. */
export function VersionLoader({ bundleID, slug, version }: Props) {
  const messages = useMessages();
  const query = useVersions(bundleID, slug);
  return (
    <QueryView query={query}>
      {(versions) => (
        <EditorLoader
          title={messages.editor.versionTitle(slug)}
          bundleID={bundleID}
          base={versions.find((tool) => tool.version === version) ?? mainVersion(versions)}
          existingVersions={versions.map((tool) => tool.version)}
        />
      )}
    </QueryView>
  );
}
