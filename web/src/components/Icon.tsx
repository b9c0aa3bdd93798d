// Line icons.
const PATHS = {
  tools: 'M14.7 6.3a4 4 0 0 0-5.4 5.2L3 17.8 6.2 21l6.3-6.3a4 4 0 0 0 5.2-5.4l-2.5 2.5-2.9-.6-.6-2.9z',
  chat: 'M21 12a8 8 0 0 1-8 8H4l1.8-3.2A8 8 0 1 1 21 12z',
  code: 'm8 8-4 4 4 4M16 8l4 4-4 4M13.5 5l-3 14',
  resources: 'M6 3h8l4 4v14H6zM14 3v4h4M9 12h6M9 16h6',
  servers: 'M4 4h16v6H4zM4 14h16v6H4zM8 7h.01M8 17h.01',
  access: 'M12 3 5 6v5c0 4.500 3 8 7 10 4-2 7-5.500 7-10V6zM9 12l2 2 4-4',
  jobs: 'M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM12 8v4l3 2',
  activity: 'M3 12h4l3-8 4 16 3-8h4',
  stats: 'M4 20V10M10 20V4M16 20v-7M21 20H3',
  settings: 'M4 7h10M18 7h2M4 17h2M10 17h10M16 4.5v5M8 14.5v5',
  members:
    'M9 4a3.500 3.500 0 1 0 0 7 3.500 3.500 0 0 0 0-7zM2.500 20c0-3.500 2.900-6 6.500-6s6.500 2.500 6.500 6M15.500 4.300a3.500 3.500 0 0 1 0 6.400M18 14.600c2.100.9 3.500 2.900 3.500 5.400',
  keys: 'M7.500 11a4.500 4.500 0 1 0 0 9 4.500 4.500 0 0 0 0-9zM10.700 12.300 20 3M16.500 6.500l3 3',
  audit:
    'M5 3h11l3 3v7M5 3v18h7M8.500 8h7M8.500 12h4M17 15a2.800 2.800 0 1 0 0 5.600 2.800 2.800 0 0 0 0-5.600zM19 19.800l2.500 2.200',
  connections: 'M9 3v5M15 3v5M6 8h12v3a6 6 0 0 1-12 0zM12 17v4',
  search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM20 20l-4-4',
  plus: 'M12 5v14M5 12h14',
  down: 'm6 9 6 6 6-6',
  right: 'm9 6 6 6-6 6',
  left: 'm15 6-6 6 6 6',
  up: 'm6 15 6-6 6 6',
  dots: 'M12 5h.01M12 12h.01M12 19h.01',
  close: 'M6 6l12 12M18 6 6 18',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  check: 'm5 12.5 4.5 4.5L19 7.5',
  question: 'M8.500 9a3.500 3.500 0 1 1 5 3.200c-1 .5-1.500 1.200-1.500 2.300M12 18.500h.01',
  hidden:
    'M4 4l16 16M10 6.200A9 9 0 0 1 12 6c5 0 8 4 9 6a14 14 0 0 1-2.500 3.300M6.500 7.700A14 14 0 0 0 3 12c1 2 4 6 9 6a9 9 0 0 0 4-1M10 10a2.800 2.800 0 0 0 4 4',
  alert: 'M12 4 2.8 20h18.4zM12 10v4M12 17h.01',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M4.9 4.9l1.4 1.4M17.7 17.7l1.4 1.4M4.9 19.1l1.4-1.4M17.7 6.3l1.4-1.4',
  moon: 'M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z',
  logOut: 'M14 4h5v16h-5M10 8l-4 4 4 4M6 12h9',
  play: 'M7 4.5v15l12-7.5z',
  pause: 'M8 5v14M16 5v14',
  stop: 'M6 6h12v12H6z',
  lock: 'M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3',
  download: 'M12 4v12M7 11l5 5 5-5M4 20h16',
  upload: 'M12 16V4M7 9l5-5 5 5M4 20h16',
  refresh: 'M20 11a8 8 0 0 0-14.5-4L4 9M4 4v5h5M4 13a8 8 0 0 0 14.5 4L20 15M20 20v-5h-5',
  language: 'M4 5h10M9 3v2c0 4-2.5 7-5.5 8.5M6 9c1 2 3.500 4 6 4.500M12 21l4.500-10 4.500 10M13.500 18h6',
  send: 'M12 20V5M6 11l6-6 6 6',
  edit: 'M4 20h4L19 9l-4-4L4 16z',
  trash: 'M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13',
} as const;

export type IconName = keyof typeof PATHS;

/** A decorative icon. Label the control that contains it. */
export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.8"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
