import { Button } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { errorMessage } from '~/api/problem';
import { isConflict, type Setting, useResetSetting, useSaveSetting } from '~/api/settings';
import { InlineMarkdown } from '~/components/InlineMarkdown';
import { Notice } from '~/components/Notice';
import { notify } from '~/components/notifications';
import { Tag } from '~/components/Tag';
import { useMessages } from '~/i18n';
import { SettingInput } from './SettingInput';
import css from './settings.module.css';
import { fieldKind, toText, toValue } from './settingText';

interface Draft {
  text: string;
  /** The hash of the value that the user began with. */
  digest: string;
}

/** One setting: what it does, its value, and whether it is changed. */
export function SettingField({ setting, canEdit }: { setting: Setting; canEdit: boolean }) {
  const messages = useMessages();
  const texts = messages.configuration;
  const saving = useSaveSetting();
  const resetting = useResetSetting();
  const [draft, setDraft] = useState<Draft | null>(null);
  const [invalid, setInvalid] = useState<'notNumber' | 'notJson' | null>(null);
  const { key, digest } = setting;
  const kind = fieldKind(setting);
  const isSet = digest !== '';
  const text = draft?.text ?? toText(kind, isSet ? setting.stored : setting.value);
  const error = saving.error ?? resetting.error;
  const discard = () => {
    setDraft(null);
    setInvalid(null);
    saving.reset();
    resetting.reset();
  };
  const save = (value: unknown, seen: string) => {
    resetting.reset();
    const handleSaved = () => {
      discard();
      notify(setting.restart ? texts.savedRestart(key) : texts.saved(key));
    };
    void saving.mutateAsync({ key, value, digest: seen }).then(handleSaved, () => {});
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!draft) return;
    try {
      setInvalid(null);
      save(toValue(kind, draft.text, setting.nullable), draft.digest);
    } catch (problem) {
      setInvalid(errorMessage(problem) as 'notNumber' | 'notJson');
    }
  };
  const reset = () => {
    const handleReset = () => {
      discard();
      notify(texts.resetDone(key));
    };
    saving.reset();
    void resetting.mutateAsync({ key, digest }).then(handleReset, () => {});
  };
  const fieldError = invalid ? texts[invalid] : error && !isConflict(error) ? errorMessage(error) : undefined;
  return (
    <li className={css.setting} aria-label={key}>
      <div className={css.settingAbout}>
        <div className={css.settingName}>
          <code>{key}</code>
          {isSet && <Tag tone="accent">{texts.changed}</Tag>}
          {setting.origin === 'project' && <Tag tone="warning">{texts.fromProject}</Tag>}
          {setting.restart && <Tag>{texts.restart}</Tag>}
        </div>
        <p>
          <InlineMarkdown text={setting.description} />
        </p>
        <p>
          {texts.default}: <code>{setting.default === null ? texts.noValue : JSON.stringify(setting.default)}</code>
        </p>
      </div>
      <form className={css.settingForm} onSubmit={submit}>
        <SettingInput
          setting={setting}
          text={text}
          disabled={!canEdit || saving.isPending}
          error={fieldError}
          onType={(value) => setDraft({ text: value, digest: draft?.digest ?? digest })}
          onChoose={(value) => save(value, digest)}
        />
        {isConflict(error) && (
          <Notice
            tone="danger"
            action={
              <Button size="compact-sm" variant="default" onClick={discard}>
                {texts.loadCurrent}
              </Button>
            }
          >
            {texts.conflict}
          </Notice>
        )}
        <div className={css.settingActions}>
          {draft && (
            <>
              <Button type="submit" size="compact-sm" loading={saving.isPending} aria-label={texts.saveLabel(key)}>
                {messages.common.save}
              </Button>
              <Button size="compact-sm" variant="default" onClick={discard}>
                {messages.common.cancel}
              </Button>
            </>
          )}
          {isSet && canEdit && !draft && (
            <Button
              size="compact-sm"
              variant="default"
              aria-label={texts.resetLabel(key)}
              loading={resetting.isPending}
              onClick={reset}
            >
              {texts.reset}
            </Button>
          )}
        </div>
      </form>
    </li>
  );
}
