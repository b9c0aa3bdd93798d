// The live tester: fill in, run, watch, read.
import { Button, Progress as Bar, SegmentedControl } from '@mantine/core';
import { lazy, Suspense, useId, useState } from 'react';
import { parsed, written } from '~/api/json';
import { invokePath, type Tool } from '~/api/tools';
import { useWords } from '~/i18n';
import { Icon } from '~/parts/Icon';
import { Card, Copy, Loading, Note, Pre, Tag } from '~/parts/parts';
import { Result } from './Result';
import { asCurl, asPython, asRun } from './snippets';
import css from './tester.module.css';
import { type Args, type Made, useCall } from './useCall';

const SchemaForm = lazy(() => import('~/forms/SchemaForm'));
const Editor = lazy(() => import('~/parts/Editor'));

export function Tester({ tool }: { tool: Tool }) {
  const words = useWords();
  const id = useId();
  const [args, setArgs] = useState<Args>({});
  const [times, setTimes] = useState(0);
  const calling = useCall(invokePath(tool));
  const again = (made: Made) => {
    setArgs(made.args);
    setTimes(times + 1); // fields that hold a text of their own begin anew
    calling.show(made);
  };
  return (
    <div className={css.columns}>
      <Card>
        <Suspense fallback={<Loading />}>
          <Arguments key={times} id={id} tool={tool} args={args} onArgs={setArgs} onRun={() => void calling.run(args)} />
          <div className={css.buttons}>
            {/* Keys keep these two apart: a Stop that turned into Run under the pointer would submit the form. */}
            {calling.isRunning ? (
              <Button key="stop" color="red" variant="light" leftSection={<Icon name="stop" size={15} />} onClick={calling.stop}>
                {words.tester.cancel}
              </Button>
            ) : (
              <Button key="run" type="submit" form={id} leftSection={<Icon name="play" size={15} />}>
                {words.tester.run}
              </Button>
            )}
          </div>
        </Suspense>
        <Snippets tool={tool} args={args} />
      </Card>
      <Card>
        <h2 className={css.heading}>{words.tester.result}</h2>
        {calling.isRunning && <Running progress={calling.progress} />}
        {calling.made && <Result key={calling.made.id} answer={calling.made.answer} ms={calling.made.ms} />}
        {calling.made && <Requests sent={calling.made.requests} />}
        {!calling.made && !calling.isRunning && <p className={css.soft}>{words.tester.nothing}</p>}
        <Recent recent={calling.recent} onPick={again} />
      </Card>
    </div>
  );
}

interface ArgumentsProps {
  id: string;
  tool: Tool;
  args: Args;
  onArgs: (args: Args) => void;
  onRun: () => void;
}

function Arguments({ id, tool, args, onArgs, onRun }: ArgumentsProps) {
  const words = useWords();
  const [text, setText] = useState<string | null>(null);
  const [isBad, setBad] = useState(false);
  const take = (given: string) => {
    const read = parsed(given || '{}');
    const isFine = typeof read === 'object' && read !== null && !Array.isArray(read);
    setText(given);
    setBad(!isFine);
    if (isFine) onArgs(read as Args);
  };
  const turn = (to: string) => {
    setText(to === 'json' ? written(args) : null);
    setBad(false);
  };
  const submit = () => !isBad && onRun();
  return (
    <>
      <div className={css.line}>
        <h2 className={css.heading}>{words.tester.args}</h2>
        <span className={css.spring} />
        <SegmentedControl
          size="xs"
          aria-label={words.tester.args}
          value={text === null ? 'form' : 'json'}
          data={[
            { value: 'form', label: words.tester.asForm },
            { value: 'json', label: words.tester.asJson },
          ]}
          onChange={turn}
        />
      </div>
      {text === null ? (
        <SchemaForm id={id} schema={tool.argSchema} value={args} onChange={onArgs} onSubmit={onRun}>
          <span />
        </SchemaForm>
      ) : (
        <form
          id={id}
          onSubmit={(event) => {
            event.preventDefault();
            submit();
          }}
        >
          <Editor label={words.tester.asJson} language="json" value={text} onChange={take} onRun={submit} minHeight={140} />
          {isBad && <Note mood="warn">{words.tester.badJson}</Note>}
        </form>
      )}
    </>
  );
}

function Running({ progress }: { progress: ReturnType<typeof useCall>['progress'] }) {
  const words = useWords();
  const share = progress?.total ? (100 * progress.done) / progress.total : 100;
  return (
    <div className={css.running} role="status">
      <Bar value={share} animated={!progress?.total} aria-label={words.tester.progress} />
      <span className={css.soft}>{String(progress?.message || words.tester.running)}</span>
    </div>
  );
}

function Snippets({ tool, args }: { tool: Tool; args: Args }) {
  const words = useWords();
  return (
    <div className={css.snippets}>
      <div className={css.line}>
        <span className={css.soft}>{words.tester.copyAs}</span>
        <Copy text={asCurl(tool, args)}>{words.tester.curl}</Copy>
        <Copy text={asRun(tool, args)}>{words.tester.cli}</Copy>
        <Copy text={asPython(tool, args)}>{words.tester.python}</Copy>
      </div>
    </div>
  );
}

function Requests({ sent }: { sent: string[] }) {
  const words = useWords();
  if (sent.length === 0) return null;
  return (
    <section className={css.recent}>
      <h3>{words.tester.request}</h3>
      {sent.map((text, at) => (
        <Pre key={at} label={words.tester.request}>
          {text}
        </Pre>
      ))}
    </section>
  );
}

function Recent({ recent, onPick }: { recent: Made[]; onPick: (made: Made) => void }) {
  const words = useWords();
  return (
    <section className={css.recent}>
      <h3>{words.tester.recent}</h3>
      {recent.length === 0 && <p className={css.soft}>{words.tester.recentNone}</p>}
      {recent.map((made) => (
        <button key={made.id} type="button" className={css.past} title={words.tester.again} onClick={() => onPick(made)}>
          <Tag mood={made.answer === null ? 'plain' : made.answer.ok ? 'good' : 'bad'}>{words.common.ms(made.ms)}</Tag>
          <code>{JSON.stringify(made.args)}</code>
          <span className={css.soft}>{made.at.toLocaleTimeString()}</span>
        </button>
      ))}
    </section>
  );
}
