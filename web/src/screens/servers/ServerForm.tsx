import { Stack, Switch, Textarea, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { ServerSettings } from '~/api/servers';
import { useMessages } from '~/i18n';
import { PairFields } from '~/screens/tool-editor/PairFields';
import { GrantFields } from './GrantFields';
import { grantsOf, linesOf, type Pair, pairsOf, parseLines, textOf, toMap, withSetting } from './serverFields';

interface Props {
  settings: ServerSettings;
  onChange: (settings: ServerSettings) => void;
}

/** The common settings of a server. The JSON view has all of them. */
export function ServerForm({ settings, onChange }: Props) {
  const messages = useMessages().editServer;
  const set = (key: string, value: unknown) => onChange(withSetting(settings, key, value));
  const isRemote = 'url' in settings;
  return (
    <Stack>
      {isRemote ? (
        <>
          <TextInput
            label={messages.url}
            value={textOf(settings.url)}
            onChange={(event) => onChange({ ...settings, url: event.currentTarget.value })}
          />
          <PairSetting settings={settings} name="headers" label={messages.headers} add={messages.addHeader} set={set} />
        </>
      ) : (
        <>
          <TextInput
            label={messages.command}
            value={textOf(settings.command)}
            onChange={(event) => onChange({ ...settings, command: event.currentTarget.value })}
          />
          <Textarea
            label={messages.args}
            description={messages.argsHint}
            autosize
            minRows={2}
            spellCheck={false}
            value={linesOf(settings.args)}
            onChange={(event) => set('args', parseLines(event.currentTarget.value))}
          />
          <PairSetting settings={settings} name="env" label={messages.env} add={messages.addVariable} set={set} />
          <TextInput
            label={messages.cwd}
            value={textOf(settings.cwd)}
            onChange={(event) => set('cwd', event.currentTarget.value)}
          />
          <GrantFields grants={grantsOf(settings.paths)} onChange={(grants) => set('paths', grants)} />
          <Switch
            label={messages.network}
            checked={settings.network !== false}
            onChange={(event) => set('network', event.currentTarget.checked ? undefined : false)}
          />
          <Switch
            label={messages.sandbox}
            description={messages.sandboxHint}
            checked={settings.sandbox !== false}
            onChange={(event) => set('sandbox', event.currentTarget.checked ? undefined : false)}
          />
        </>
      )}
      <Textarea
        label={messages.exclude}
        description={messages.excludeHint}
        autosize
        minRows={1}
        spellCheck={false}
        value={linesOf(settings.exclude)}
        onChange={(event) => set('exclude', parseLines(event.currentTarget.value))}
      />
      <Switch
        label={messages.trust}
        description={messages.trustHint}
        checked={settings.trust_annotations === true}
        onChange={(event) => set('trust_annotations', event.currentTarget.checked || undefined)}
      />
    </Stack>
  );
}

interface PairProps {
  settings: ServerSettings;
  name: string;
  label: string;
  add: string;
  set: (key: string, value: unknown) => void;
}

/** A map of texts. Keeps rows that have no name yet. */
function PairSetting({ settings, name, label, add, set }: PairProps) {
  const [pairs, setPairs] = useState<Pair[]>(() => pairsOf(settings[name]));
  const handleChange = (changed: Pair[]) => {
    setPairs(changed);
    set(name, toMap(changed.filter((pair) => pair.name !== '')));
  };
  return <PairFields label={label} addLabel={add} pairs={pairs} onChange={handleChange} />;
}
