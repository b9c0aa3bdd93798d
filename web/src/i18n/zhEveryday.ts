// 日常使用的文本：命令面板、提示条、首次访问、已保存的请求、对话中的文件
import type { Messages } from './en';
import type { enEveryday } from './enEveryday';

export const zhEveryday: Pick<Messages, keyof typeof enEveryday> = {
  connection: {
    hint: '您输入的内容会保留。服务器恢复后，此页面将继续工作。',
  },
  chatFiles: {
    attach: '附加图片或文本文件',
    label: '文件',
    remove: (name) => `移除 ${name}`,
    rejected: (name, files, megabytes) => `未附加 ${name}：一条消息最多 ${files} 个文件，每个最大 ${megabytes} MB。`,
  },
  welcome: {
    title: '欢迎使用 OneTool',
    lead: '语言模型使用的所有工具集中在一处：您自己的代码、HTTP API 和 MCP 服务器。您可以在这里调用它们，您的助手则通过一个连接调用它们。',
    server: '添加服务器',
    serverHint: 'MCP 服务器的工具，或您的助手已在使用的服务器。',
    tool: '试用工具',
    toolHint: '填写表单，运行，查看结果。',
    assistant: '连接您的助手',
    assistantHint: '将以下内容添加到助手的 MCP 设置中。',
    keyHint: '创建 API 密钥。它附带 MCP 客户端的设置。',
    dismiss: '不再显示',
  },
  emptyStates: {
    jobs: '要启动一个任务，请运行耗时较长的工具，或在调用时发送 `Prefer: respond-async`。',
    activity: '进行第一次调用：打开一个工具并选择“运行”，或执行 `onetool run "time.now()"`。',
    connections: '设置中带有 OAuth 登录的服务器会显示在这里。请在“服务器”页面添加。',
    resources: 'MCP 服务器提供资源和提示。请在“服务器”页面添加提供它们的服务器。',
    tryTool: '试用工具',
    openServers: '打开服务器页面',
  },
  requests: {
    title: '已保存的请求',
    name: '此请求的名称',
    hint: '仅存储在此浏览器中，不含密码和令牌。',
    full: (n) => `已有 ${n} 个已保存的请求。请先删除一个。`,
    noRoom: '此请求太大，无法保存，或浏览器不允许存储。',
    remove: (name) => `删除已保存的请求 ${name}`,
    runAgain: (name) => `再次运行：${name}`,
    historyHint: '选择一次调用即可再次使用其参数。其他客户端的调用也会列出。',
  },
  commands: {
    open: '转到…',
    title: '转到',
    search: '搜索页面、工具和操作',
    pages: '页面',
    actions: '操作',
    theme: '切换浅色和深色主题',
    language: (name) => `语言：${name}`,
    noResults: '未找到任何内容。请尝试更少或不同的词。',
    keys: '↑ ↓ 移动 · Enter 打开 · Esc 关闭',
  },
};
