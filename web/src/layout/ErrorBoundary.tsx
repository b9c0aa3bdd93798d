import { Component, type ReactNode } from 'react';
import { ErrorPage } from './ErrorPage';

/** Shows an error page if a component throws while rendering. Change its key to reset it. */
export class ErrorBoundary extends Component<{ children: ReactNode }, { error: unknown }> {
  override state = { error: undefined };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override render() {
    return this.state.error === undefined ? this.props.children : <ErrorPage />;
  }
}
