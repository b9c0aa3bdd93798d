// English strings of what is used every day: the command palette, the banner, the first visit, saved requests, files in chat.

export const enEveryday = {
  connection: {
    hint: 'What you typed is kept. This page continues as soon as the server is back.',
  },
  chatFiles: {
    attach: 'Attach images or text files',
    label: 'Files',
    remove: (name: string) => `Remove ${name}`,
    rejected: (name: string, files: number, megabytes: number) =>
      `${name} is not attached: a message has at most ${files} files of at most ${megabytes} MB.`,
  },
  welcome: {
    title: 'Welcome to OneTool',
    lead: 'One place for every tool that a language model uses: your own code, HTTP APIs and MCP servers. You call them here, and your assistant calls them through one connection.',
    server: 'Add a server',
    serverHint: 'The tools of an MCP server, or of one that your assistant uses already.',
    tool: 'Try a tool',
    toolHint: 'Fill in a form, run it, and see the result.',
    assistant: 'Connect your assistant',
    assistantHint: 'Add this to the MCP settings of your assistant.',
    keyHint: 'Create an API key. It comes with the settings for an MCP client.',
    dismiss: 'Do not show this again',
  },
  emptyStates: {
    jobs: 'To start one, run a tool that takes long, or send `Prefer: respond-async` with a call.',
    activity: 'Make the first one: open a tool and select Run, or `onetool run "time.now()"`.',
    connections: 'A server appears here when its settings have an OAuth login. Add one on the page Servers.',
    resources: 'MCP servers offer resources and prompts. Add a server that has some on the page Servers.',
    tryTool: 'Try a tool',
    openServers: 'Open Servers',
  },
  requests: {
    title: 'Saved requests',
    name: 'Name of this request',
    hint: 'Stored in this browser only, without passwords and tokens.',
    full: (n: number) => `There are ${n} saved requests. Delete one first.`,
    noRoom: 'This request is too large to save, or the browser stores nothing.',
    remove: (name: string) => `Delete saved request ${name}`,
    runAgain: (name: string) => `Run again: ${name}`,
    historyHint: 'Select a call to use its arguments again. Calls of other clients are listed, too.',
  },
  commands: {
    open: 'Go to…',
    title: 'Go to',
    search: 'Search pages, tools and actions',
    pages: 'Pages',
    actions: 'Actions',
    theme: 'Switch between light and dark theme',
    language: (name: string) => `Language: ${name}`,
    noResults: 'Nothing found. Try fewer or different words.',
    keys: '↑ ↓ move · Enter open · Esc close',
  },
};
