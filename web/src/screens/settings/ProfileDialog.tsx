import { Button, Group, Modal, Select, Stack, Textarea, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { fetchSetting, isConflict, useSaveSetting } from '~/api/settings';
import { ErrorNotice } from '~/components/ErrorNotice';
import { InlineMarkdown } from '~/components/InlineMarkdown';
import { Notice } from '~/components/Notice';
import { notify } from '~/components/notifications';
import { useMessages } from '~/i18n';
import { type Profile, type ProfileFields, toFields, toProfile } from './profiles';

interface Props {
  /** Undefined: a new one. */
  name?: string;
  profile: Profile;
  taken: string[];
  onClose: () => void;
}

const LISTS = ['packs', 'servers', 'exclude', 'roots'] as const;

/** Adds or changes a profile. */
export function ProfileDialog({ name: oldName, profile, taken, onClose }: Props) {
  const messages = useMessages();
  const texts = messages.configuration;
  const saving = useSaveSetting();
  const [name, setName] = useState(oldName ?? '');
  const [fields, setFields] = useState(() => toFields(profile));
  const current = useQuery({
    queryKey: ['profile', oldName],
    queryFn: () => fetchSetting(`profiles.${oldName}`),
    enabled: oldName !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  const isTaken = oldName === undefined && taken.includes(name.trim());
  const change = (part: Partial<ProfileFields>) => setFields((before) => ({ ...before, ...part }));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isTaken) return;
    const handleSaved = () => {
      notify(texts.profileSaved(name.trim()));
      onClose();
    };
    const body = {
      key: `profiles.${name.trim()}`,
      value: toProfile(fields, profile),
      digest: current.data?.digest ?? '',
    };
    void saving.mutateAsync(body).then(handleSaved, () => {});
  };
  const exposed = ['run', 'search', 'all'].map((value) => ({ value, label: value }));
  return (
    <Modal
      opened
      size="lg"
      onClose={onClose}
      title={oldName === undefined ? texts.addProfile : texts.editProfileTitle(oldName)}
      closeButtonProps={{ 'aria-label': messages.common.close }}
    >
      <form onSubmit={submit} autoComplete="off">
        <Stack>
          {oldName === undefined && (
            <TextInput
              label={messages.common.name}
              description={texts.profileName}
              required
              data-autofocus
              spellCheck={false}
              maxLength={64}
              pattern="[a-z0-9][a-z0-9_\-]*"
              error={isTaken ? texts.profileTaken : undefined}
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
            />
          )}
          {LISTS.map((list) => (
            <Textarea
              key={list}
              label={texts[list]}
              description={<InlineMarkdown text={texts[`${list}Hint`]} />}
              autosize
              minRows={1}
              maxRows={8}
              spellCheck={false}
              value={fields[list]}
              onChange={(event) => change({ [list]: event.currentTarget.value })}
            />
          ))}
          <Select
            label={texts.expose}
            allowDeselect={false}
            data={[{ value: '', label: texts.exposeDefault }, ...exposed]}
            value={fields.expose}
            onChange={(expose) => change({ expose: expose ?? '' })}
          />
          <Select
            label={texts.mode}
            allowDeselect={false}
            data={(['allow', 'ask', 'deny'] as const).map((value) => ({ value, label: texts.modes[value] }))}
            value={fields.mode}
            onChange={(mode) => change({ mode: mode ?? 'allow' })}
          />
          {isConflict(saving.error) ? (
            <Notice tone="danger">{texts.conflict}</Notice>
          ) : (
            saving.error && <ErrorNotice error={saving.error} />
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {messages.common.cancel}
            </Button>
            <Button type="submit" loading={saving.isPending} disabled={oldName !== undefined && !current.data}>
              {messages.common.save}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
