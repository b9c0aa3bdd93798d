import { Button, Group, Stack } from '@mantine/core';
import { useEffect, useRef } from 'react';
import type { NewInvitation } from '~/api/invitations';
import { CodeBlock } from '~/components/CodeBlock';
import { CopyButton } from '~/components/CopyButton';
import { formatDay } from '~/components/formatDay';
import { Notice } from '~/components/Notice';
import { useLanguage } from '~/i18n';
import { invitationLink } from '~/screens/join/secret';
import css from '~/screens/keys/keys.module.css';

interface Props {
  created: NewInvitation;
  onClose: () => void;
}

/** The link of a new invitation. */
export function NewInvitationLink({ created, onClose }: Props) {
  const { locale, messages } = useLanguage();
  const texts = messages.invitations;
  const view = useRef<HTMLDivElement>(null);
  useEffect(() => view.current?.focus(), []); // the button that had the focus is gone
  const link = invitationLink(created.secret, location.origin);
  return (
    <Stack ref={view} tabIndex={-1} className={css.newKey}>
      <Notice tone="warning">{texts.shownOnce}</Notice>
      <div className={css.secret}>
        <h3>{texts.link}</h3>
        <CopyButton text={link}>{texts.copyLink}</CopyButton>
        <CodeBlock label={texts.link}>{link}</CodeBlock>
        <p>{texts.linkHint(formatDay(created.expiresAt, locale))}</p>
      </div>
      <Group justify="flex-end">
        <Button onClick={onClose}>{messages.keys.done}</Button>
      </Group>
    </Stack>
  );
}
