import { sendRequest } from '../../sdk/response.ts'
import type { HttpResponse } from '../../sdk/transport.ts'
import { loginCommand, resolveKey, resolvePublisherKey } from '../account.ts'
import type { CommandContext, OptionValues } from '../command.ts'
import { describeError, type LastRequest } from '../format-error.ts'
import { PUBLISH_FOLDER, publishFolder, type ToolResult, toErrorResult } from './publish-folder.ts'

/** A message of JSON-RPC 2.0. One without `id` gets no answer. */
interface Message {
  jsonrpc: '2.0'
  id?: string | number | null
  method?: string
  params?: { name?: unknown; arguments?: Record<string, unknown>; _meta?: Record<string, unknown> }
  result?: Record<string, unknown>
  error?: { code: number; message: string }
}

const PARSE_ERROR = -32700
const INVALID_REQUEST = -32600
const SERVER_ERROR = -32000

/** Where messages since revision 2026-07-28 name their revision. */
const VERSION_FIELD = 'io.modelcontextprotocol/protocolVersion'

/** Forwards messages to the server, whose tools it has beside one of its own. */
export class MessageProxy {
  readonly #work: CommandContext
  readonly #server: string
  readonly #options: OptionValues
  /** Of `initialize`, in revisions before 2026-07-28. */
  #version: string | undefined

  constructor(work: CommandContext, server: string, options: OptionValues) {
    this.#work = work
    this.#server = server
    this.#options = options
  }

  /**
   * The answer to a line with a message, or the answers to one with a batch, which revision 2025-03-26 has; undefined
   * where there are none. Never rejects.
   */
  async handle(line: string): Promise<Message | Message[] | undefined> {
    let parsed: unknown
    try {
      parsed = JSON.parse(line)
    } catch {
      return refusal(PARSE_ERROR, 'The message is not JSON')
    }
    if (!Array.isArray(parsed) || parsed.length === 0) return this.#answer(parsed)
    const answers = await Promise.all(parsed.map((message) => this.#answer(message)))
    const found = answers.filter((answer) => answer !== undefined)
    return found.length > 0 ? found : undefined
  }

  async #answer(parsed: unknown): Promise<Message | undefined> {
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
      return refusal(INVALID_REQUEST, 'The message is not a JSON object')
    const message = parsed as Message
    const { id, method, params } = message
    try {
      if (method === 'tools/call' && params?.name === PUBLISH_FOLDER.name)
        return toAnswer(id, await publishFolder(this.#work, this.#server, params.arguments ?? {}))
      const answer = await this.#forward(message)
      if (method === 'initialize') this.#version = String(answer?.result?.protocolVersion)
      if (method === 'tools/list' && Array.isArray(answer?.result?.tools))
        answer.result.tools.push(PUBLISH_FOLDER)
      return id === undefined ? undefined : answer
    } catch (error) {
      if (id === undefined) return undefined
      const report = describeError(error, this.#work, this.#caller())
      if (method === 'tools/call') return toAnswer(id, toErrorResult(report))
      return { jsonrpc: '2.0', id, error: { code: SERVER_ERROR, message: report.message } }
    }
  }

  /** Undefined when the stored keys cannot be read, which the error says. */
  #caller(): LastRequest | undefined {
    try {
      const hasKey = resolveKey(this.#work, this.#options, this.#server) !== undefined
      return { hasKey, login: loginCommand(this.#work, this.#server) }
    } catch {
      return undefined
    }
  }

  /** The answer of the server; undefined when it has none. SlipwayError when the server refuses the request. */
  async #forward(message: Message): Promise<Message | undefined> {
    const { send, retryPolicy, signal } = this.#work
    const resolve = message.params?.name === 'publish_site' ? resolvePublisherKey : resolveKey
    const key = resolve(this.#work, this.#options, this.#server)
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...this.#protocolHeaders(message),
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    }
    const url = `${this.#server}/mcp`
    const request = { method: 'POST', url, headers, body: JSON.stringify(message), signal }
    let answer: Message | undefined
    await sendRequest(
      async () => {
        const response = await send(request)
        const text = await response.text()
        answer = readMessage(response, text)
        // A message is an answer whatever the status of its response.
        return { ...response, status: answer ? 200 : response.status, text: async () => text }
      },
      request,
      retryPolicy.now,
    )
    return answer
  }

  /** What Streamable HTTP requires of a message in its headers. */
  #protocolHeaders({ method, params }: Message): Record<string, string> {
    const version = params?._meta?.[VERSION_FIELD] ?? this.#version
    const name = params?.name
    return {
      ...(typeof version === 'string' ? { 'mcp-protocol-version': version } : {}),
      ...(method === undefined ? {} : { 'mcp-method': method }),
      ...(typeof name === 'string' && /^[\x21-\x7e]+$/.test(name) ? { 'mcp-name': name } : {}),
    }
  }
}

function refusal(code: number, message: string): Message {
  return { jsonrpc: '2.0', id: null, error: { code, message } }
}

/** Revisions since 2026-07-28 require `resultType`, and earlier ones ignore it. */
function toAnswer(id: Message['id'], result: ToolResult): Message | undefined {
  return id === undefined ? undefined : { jsonrpc: '2.0', id, result: { ...result, resultType: 'complete' } }
}

/** The message in a response: its body, or the event of a stream with one event. */
function readMessage(response: HttpResponse, text: string): Message | undefined {
  const isStream = response.header('content-type')?.startsWith('text/event-stream')
  try {
    const message = JSON.parse(isStream ? eventData(text) : text) as Message
    return message.jsonrpc === '2.0' ? message : undefined
  } catch {
    return undefined
  }
}

function eventData(text: string): string {
  return text
    .split(/\r?\n/)
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice('data:'.length))
    .join('\n')
}
