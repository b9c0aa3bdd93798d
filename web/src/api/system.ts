// Usage statistics and health.
import { useQuery } from '@tanstack/react-query';
import { api, type Schemas, unwrap } from './client';

export type Health = Schemas['HealthResponse'];
export type Usage = Schemas['UsageResponse'];
export type Period = 'day' | 'week' | 'month' | 'all';

export const useUsage = (period: Period) =>
  useQuery({
    queryKey: ['usage', period],
    queryFn: () => unwrap(api.GET('/usage', { params: { query: { period } } })),
    refetchInterval: 4_000,
    placeholderData: (previous) => previous,
  });

export const useHealth = () =>
  useQuery({ queryKey: ['health'], queryFn: () => unwrap(api.GET('/health')), refetchInterval: 30_000 });
