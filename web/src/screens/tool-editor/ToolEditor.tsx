import { useParams, useSearchParams } from 'wouter';
import { decodeSegment } from '~/api/url';
import { BackLink } from '~/components/BackLink';
import { useMessages } from '~/i18n';
import { EditorLoader } from './EditorLoader';
import { VersionLoader } from './VersionLoader';

/** Creates a tool, or a new version of an existing one. */
export default function ToolEditor() {
  const messages = useMessages();
  const { bundle, tool } = useParams();
  const [params] = useSearchParams();
  return (
    <>
      <BackLink href="/tools" label={messages.toolPage.back} />
      {bundle && tool ? (
        <VersionLoader bundleID={bundle} slug={decodeSegment(tool)} version={params.get('version')} />
      ) : (
        <EditorLoader title={messages.editor.title} bundleID={params.get('bundle')} />
      )}
    </>
  );
}
