import { Button, Group, Modal, PasswordInput, Select, Stack, Textarea, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { Problem } from '~/api/problem';
import { type Secret, type SecretOwner, useSaveSecret } from '~/api/secrets';
import { WORKSPACE } from '~/api/workspace';
import { ErrorNotice } from '~/components/ErrorNotice';
import { InlineMarkdown } from '~/components/InlineMarkdown';
import { notify } from '~/components/notifications';
import { formatItems, parseItems } from '~/forms/items';
import { useMessages } from '~/i18n';
import { toHosts } from './toHosts';

/** The names that the server accepts, as the attribute `pattern` of a field. */
const NAME_PATTERN = '[A-Za-z_][A-Za-z0-9_]*';
const MAX_NAME_LENGTH = 100;

/** What the dialog begins with. */
export interface SecretDraft {
  of: SecretOwner;
  name?: string;
  hosts?: string[] | null;
  /** Whether the secret exists, and gets a new value. */
  isStored?: boolean;
}

interface Props {
  draft: SecretDraft;
  /** The secrets that exist. */
  taken: Secret[];
  /** To whom a new secret may belong. */
  owners: SecretOwner[];
  onClose: () => void;
}

/** Adds a secret, or replaces the value of one. */
export function SecretDialog({ draft, taken, owners, onClose }: Props) {
  const messages = useMessages();
  const texts = messages.secrets;
  const saving = useSaveSecret();
  const [of, setOf] = useState(draft.of);
  const [name, setName] = useState(draft.name ?? '');
  const [value, setValue] = useState('');
  const [hosts, setHosts] = useState(() => formatItems(draft.hosts ?? []));
  // Only in a workspace do others make the tools that use a secret, so that it must name its hosts.
  const rule = WORKSPACE ? of : 'workspace';
  const isNamed = draft.name !== undefined;
  const isTaken = !draft.isStored && taken.some((secret) => secret.of === of && secret.name === name.trim());
  const fieldErrors = saving.error instanceof Problem ? saving.error.fields : {};
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isTaken) return;
    const handleSaved = () => {
      notify(texts.saved(name.trim()));
      onClose();
    };
    const body = { name: name.trim(), of, value, hosts: toHosts(rule, parseItems(hosts), draft.hosts ?? null) };
    void saving.mutateAsync(body).then(handleSaved, () => {});
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title={draft.isStored ? texts.replaceTitle(draft.name ?? '') : texts.add}
      closeButtonProps={{ 'aria-label': messages.common.close }}
    >
      <form onSubmit={submit} autoComplete="off">
        <Stack>
          {!isNamed && owners.length > 1 && (
            <Select
              label={texts.of}
              description={texts.ofHints[of]}
              allowDeselect={false}
              data={owners.map((owner) => ({ value: owner, label: texts.owners[owner] }))}
              value={of}
              onChange={(owner) => setOf(owner as SecretOwner)}
            />
          )}
          {!draft.isStored && (
            <TextInput
              label={messages.common.name}
              description={texts.nameHint}
              required
              readOnly={isNamed}
              data-autofocus={isNamed ? undefined : true}
              spellCheck={false}
              maxLength={MAX_NAME_LENGTH}
              pattern={NAME_PATTERN}
              error={isTaken ? texts.taken : undefined}
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
            />
          )}
          <PasswordInput
            label={texts.value}
            description={texts.valueHint}
            required
            data-autofocus={isNamed ? true : undefined}
            autoComplete="new-password"
            error={fieldErrors.value}
            value={value}
            onChange={(event) => setValue(event.currentTarget.value)}
          />
          <Textarea
            label={texts.hostsField}
            description={<InlineMarkdown text={texts.hostsHints[rule]} />}
            required={rule === 'me'}
            autosize
            minRows={2}
            maxRows={8}
            spellCheck={false}
            error={fieldErrors.hosts}
            value={hosts}
            onChange={(event) => setHosts(event.currentTarget.value)}
          />
          {saving.error ? <ErrorNotice error={saving.error} /> : null}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {messages.common.cancel}
            </Button>
            <Button type="submit" loading={saving.isPending}>
              {draft.isStored ? texts.replace : texts.add}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
