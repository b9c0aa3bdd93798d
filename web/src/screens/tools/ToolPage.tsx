import { useParams } from 'wouter';
import { useVersions } from '~/api/tools';
import { decodeSegment } from '~/api/url';
import { BackLink } from '~/components/BackLink';
import { EmptyState } from '~/components/EmptyState';
import { QueryView } from '~/components/QueryView';
import { useMessages } from '~/i18n';
import { mainVersion } from './rows';
import { ToolDetails } from './ToolDetails';

export default function ToolPage() {
  const messages = useMessages();
  const { bundle = '', tool = '' } = useParams();
  const query = useVersions(bundle, decodeSegment(tool));
  return (
    <>
      <BackLink href="/tools" label={messages.toolPage.back} />
      <QueryView query={query}>
        {(versions) => {
          const main = mainVersion(versions);
          if (main) return <ToolDetails main={main} versions={versions} />;
          return (
            <EmptyState title={messages.toolPage.missingTitle} icon="tools">
              <p>{messages.toolPage.missingHint}</p>
            </EmptyState>
          );
        }}
      </QueryView>
    </>
  );
}
