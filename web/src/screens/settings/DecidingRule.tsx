import { Button, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { Card } from '~/components/Card';
import { useMessages } from '~/i18n';
import { DecisionList } from '~/screens/access/DecisionList';
import css from './settings.module.css';

/** Shows which rule decides about a tool, for each kind of caller. */
export function DecidingRule() {
  const texts = useMessages().configuration;
  const [name, setName] = useState('');
  const [tool, setTool] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTool(name.trim());
  };
  return (
    <>
      <Card>
        <h2>{texts.whyTitle}</h2>
        <form className={css.ruleForm} onSubmit={submit}>
          <TextInput
            label={texts.whyTool}
            description={texts.whyHint}
            required
            spellCheck={false}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <Button type="submit" variant="default">
            {texts.whyCheck}
          </Button>
        </form>
      </Card>
      {tool && <DecisionList key={tool} tool={tool} version={tool} />}
    </>
  );
}
