import { Button } from '@mantine/core';
import { Suspense, useId, useState } from 'react';
import { invokePath, type Tool } from '~/api/tools';
import { Card } from '~/components/Card';
import { Icon } from '~/components/Icon';
import { Loading } from '~/components/Loading';
import { useMessages } from '~/i18n';
import { QuestionList } from '~/questions/QuestionList';
import { ArgumentsEditor } from './ArgumentsEditor';
import { CallOutput } from './CallOutput';
import { CallProgress } from './CallProgress';
import { CopyAs } from './CopyAs';
import { RecentCalls } from './RecentCalls';
import { SavedRequests } from './SavedRequests';
import { SentRequests } from './SentRequests';
import css from './tester.module.css';
import { type Args, type CompletedCall, useCall } from './useCall';
import { useDraft } from './useStoredArgs';

interface Props {
  tool: Tool;
  initialArgs?: Args;
}

/** Calls a tool with a form and shows its result. */
export function Tester({ tool, initialArgs }: Props) {
  const messages = useMessages();
  const formId = useId();
  const [args, setArgs] = useDraft(tool, initialArgs);
  const [editorKey, setEditorKey] = useState(0);
  const { run, stop, progress, questions, removeQuestion, isRunning, call, recentCalls, show } = useCall(
    invokePath(tool),
  );
  const reuse = (earlierArgs: Args) => {
    setArgs(earlierArgs);
    setEditorKey(editorKey + 1); // resets fields that hold text which is not a valid value
  };
  const showAgain = (recentCall: CompletedCall) => {
    reuse(recentCall.args);
    show(recentCall);
  };
  const runAgain = (earlierArgs: Args) => {
    if (isRunning) return;
    reuse(earlierArgs);
    void run(earlierArgs);
  };
  return (
    <div className={css.columns}>
      <Card>
        <Suspense fallback={<Loading />}>
          <ArgumentsEditor
            key={editorKey}
            formId={formId}
            schema={tool.argSchema}
            args={args}
            onChange={setArgs}
            onSubmit={() => void run(args)}
          />
          <div className={css.buttons}>
            {/* Without keys, React would turn Stop into Run under the pointer, and the click would submit the form. */}
            {isRunning ? (
              <Button
                key="stop"
                color="red"
                variant="light"
                leftSection={<Icon name="stop" size={15} />}
                onClick={stop}
              >
                {messages.tester.stop}
              </Button>
            ) : (
              <Button key="run" type="submit" form={formId} leftSection={<Icon name="play" size={15} />}>
                {messages.tester.run}
              </Button>
            )}
          </div>
        </Suspense>
        <SavedRequests tool={tool} args={args} onSelect={reuse} onRun={runAgain} />
        <CopyAs tool={tool} args={args} />
      </Card>
      <Card>
        <h2 className={css.heading}>{messages.tester.result}</h2>
        {isRunning && questions.length === 0 && <CallProgress progress={progress} />}
        <QuestionList questions={questions} onAnswered={removeQuestion} />
        {call && <CallOutput key={call.id} result={call.result} ms={call.ms} />}
        {call && <SentRequests requests={call.requests} />}
        {!call && !isRunning && <p className={css.muted}>{messages.tester.emptyResult}</p>}
        <RecentCalls tool={tool} calls={recentCalls} onShow={showAgain} onSelect={reuse} onRun={runAgain} />
      </Card>
    </div>
  );
}
