import { Router } from 'wouter';
import { AuthGate } from './AuthGate';
import { ErrorBoundary } from './layout/ErrorBoundary';

export function App() {
  return (
    <Router>
      <ErrorBoundary>
        <AuthGate />
      </ErrorBoundary>
    </Router>
  );
}
