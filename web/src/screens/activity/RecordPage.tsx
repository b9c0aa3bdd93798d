import { Link, useParams } from 'wouter';
import { useRecordedCall } from '~/api/activity';
import { decodeSegment } from '~/api/url';
import { BackLink } from '~/components/BackLink';
import { PageHeader } from '~/components/PageHeader';
import { QueryView } from '~/components/QueryView';
import { ToolName } from '~/components/ToolName';
import { useMessages } from '~/i18n';
import css from './activity.module.css';
import { Waterfall } from './Waterfall';

/** One call or run with the calls inside it. */
export default function RecordPage() {
  const messages = useMessages();
  const id = decodeSegment(useParams().id ?? '');
  return (
    <>
      <BackLink href="/activity" label={messages.activity.title} />
      <QueryView query={useRecordedCall(id)}>
        {(call) => (
          <>
            <PageHeader title={<ToolName name={call.tool} />} />
            {call.parent && (
              <p className={css.caller}>
                <Link href={`/activity/${encodeURIComponent(call.parent)}`}>{messages.activity.showCaller}</Link>
              </p>
            )}
            <Waterfall key={call.id} root={call} />
          </>
        )}
      </QueryView>
    </>
  );
}
