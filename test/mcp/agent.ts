import assert from 'node:assert/strict'
import {
  type CallToolResult,
  Client,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client'

/** The current revision, or one before 2026. */
type Mode = 'auto' | 'legacy'

/** A program that uses the tools of a service, over the library that programs use. */
export class Agent implements AsyncDisposable {
  readonly client: Client

  private constructor(client: Client) {
    this.client = client
  }

  /** Connects over HTTP with an API key, or without. */
  static connect(
    baseUrl: string,
    { key, mode, path = '/mcp' }: { key?: string; mode?: Mode; path?: string } = {},
  ): Promise<Agent> {
    const headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
    const url = new URL(path, baseUrl)
    return Agent.over(new StreamableHTTPClientTransport(url, { requestInit: { headers } }), mode)
  }

  /** `mode` selects the revision of the protocol. */
  static async over(transport: Transport, mode: Mode = 'auto'): Promise<Agent> {
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
    await client.connect(transport)
    return new Agent(client)
  }

  /** The structured result of a call that succeeds, which the client has checked against the output schema. */
  // biome-ignore lint/suspicious/noExplicitAny: each tool has another result
  async call(name: string, args: object = {}): Promise<any> {
    const result = await this.send(name, args)
    assert.notEqual(result.isError, true, textOf(result))
    return result.structuredContent
  }

  /** The text of a call that is refused. */
  async refusal(name: string, args: object = {}): Promise<string> {
    const result = await this.send(name, args)
    assert.equal(result.isError, true)
    return textOf(result)
  }

  async send(name: string, args: object): Promise<CallToolResult> {
    return (await this.client.callTool({ name, arguments: { ...args } })) as CallToolResult
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.client.close()
  }
}

function textOf({ content }: CallToolResult): string {
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('\n')
}

export const LIST_TOOLS = { jsonrpc: '2.0', id: 1, method: 'tools/list' }

/** The message of a call. */
export function callOf(name: string, args: object = {}) {
  return { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }
}

/** Sends a message without the library. */
export function postMessage(
  baseUrl: string,
  message: unknown,
  {
    path = '/mcp',
    headers = {},
  }: { path?: string | undefined; headers?: Record<string, string | undefined> } = {},
): Promise<Response> {
  const usual = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const given = Object.entries<string | undefined>({ ...usual, ...headers })
  return fetch(baseUrl + path, {
    method: 'POST',
    headers: given.filter((header): header is [string, string] => header[1] !== undefined),
    body: typeof message === 'string' ? message : JSON.stringify(message),
  })
}
