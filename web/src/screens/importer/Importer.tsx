import { TextInput } from '@mantine/core';
import { useState } from 'react';
import { useImport } from '~/api/tools';
import { BackLink } from '~/components/BackLink';
import { Card } from '~/components/Card';
import { ErrorNotice } from '~/components/ErrorNotice';
import { Loading } from '~/components/Loading';
import { PageHeader } from '~/components/PageHeader';
import { useMessages } from '~/i18n';
import { FileDropZone } from './FileDropZone';
import { ImportReview } from './ImportReview';

export default function Importer() {
  const messages = useMessages();
  const upload = useImport();
  const [baseUrl, setBaseUrl] = useState('');
  return (
    <>
      <BackLink href="/tools" label={messages.toolPage.back} />
      <PageHeader title={messages.importer.title} lead={messages.importer.lead} />
      {upload.data ? (
        <ImportReview result={upload.data} />
      ) : (
        <Card>
          <FileDropZone onFile={(file) => upload.mutate({ file, baseUrl: baseUrl.trim() })} />
          <TextInput
            mt="md"
            label={messages.importer.baseUrl}
            description={messages.importer.baseUrlHint}
            placeholder="https://api.example.com"
            value={baseUrl}
            onChange={(event) => setBaseUrl(event.currentTarget.value)}
          />
          {upload.isPending && <Loading />}
          {upload.error ? <ErrorNotice error={upload.error} /> : null}
        </Card>
      )}
    </>
  );
}
