import { Router } from 'wouter';
import { AuthGate } from './AuthGate';
import { WORKSPACE } from './api/workspace';
import { ErrorBoundary } from './layout/ErrorBoundary';

export function App() {
  return (
    <Router base={WORKSPACE}>
      <ErrorBoundary>
        <AuthGate />
      </ErrorBoundary>
    </Router>
  );
}
