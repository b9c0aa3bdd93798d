// What is shown when a screen breaks: words instead of an empty page.
import { Button } from '@mantine/core';
import { Component, type ReactNode } from 'react';
import { useWords } from '~/i18n';
import { Empty } from '~/parts/parts';

/** Holds back what breaks inside; give it another key to let it try anew. */
export class Stumble extends Component<{ children: ReactNode }, { error: unknown }> {
  override state = { error: undefined };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override render() {
    return this.state.error === undefined ? this.props.children : <Stumbled />;
  }
}

function Stumbled() {
  const words = useWords();
  return (
    <Empty title={words.common.failed} icon="alert">
      <p>{words.common.crashed}</p>
      <Button onClick={() => location.reload()}>{words.common.retry}</Button>
    </Empty>
  );
}
