import assert from 'node:assert/strict'
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Agent } from '../mcp/agent.ts'
import type { Surroundings } from './run-client.ts'
import { runProgram } from './run-program.ts'

/** A program of others, and how it gets from nothing to a site that an account owns. */
export interface Client {
  name: string
  /** Packages of the registry with their versions; the first is the client. */
  packages: readonly string[]
  /** How it signs in, for the table. */
  signsIn: string
  /** How it publishes, for the table. */
  calls: string
  /** Returns the slug of the site. */
  run(surroundings: Surroundings): Promise<string>
}

const FILES = [{ path: 'index.html', content: '<h1>Hello</h1>' }]

/** Agents call tools only when a model asks for it. */
const WITH_ITS_TOKEN = 'no model here: the tools are called with the token that it has stored'

export const CLIENTS: readonly Client[] = [
  {
    name: 'Claude Code',
    packages: ['@anthropic-ai/claude-code@2.1.332'],
    signsIn: '`claude mcp add`, `claude mcp login`',
    calls: WITH_ITS_TOKEN,
    async run({ url, env, home, baseUrl }) {
      await runProgram('claude', ['mcp', 'add', '--transport', 'http', 'slipway', url], { cwd: home, env })
      assertAsksToSignIn(await runProgram('claude', ['mcp', 'list'], { cwd: home, env }))
      // It signs in on a terminal only.
      await runProgram('script', ['-qec', 'claude mcp login slipway', '/dev/null'], { cwd: home, env })
      return publishWith(baseUrl, await findToken(join(home, '.claude/.credentials.json')))
    },
  },
  {
    name: 'Codex',
    packages: ['@openai/codex@0.171.0'],
    signsIn: '`codex mcp add`, `codex mcp login`',
    calls: WITH_ITS_TOKEN,
    async run({ url, env, home, baseUrl }) {
      const folder = join(home, '.codex')
      await mkdir(folder)
      await writeFile(join(folder, 'config.toml'), 'mcp_oauth_credentials_store = "file"\n')
      await runProgram('codex', ['mcp', 'add', 'slipway', '--url', url], { cwd: home, env })
      const token = await findToken(join(folder, '.credentials.json')).catch(async () => {
        await runProgram('codex', ['mcp', 'login', 'slipway'], { cwd: home, env })
        return findToken(join(folder, '.credentials.json'))
      })
      return publishWith(baseUrl, token)
    },
  },
  {
    name: 'opencode',
    packages: ['opencode-ai@1.18.33'],
    signsIn: '`opencode mcp auth`',
    calls: WITH_ITS_TOKEN,
    async run({ url, env, home, baseUrl }) {
      const config = { mcp: { slipway: { type: 'remote', url, enabled: true } } }
      await writeFile(join(home, 'opencode.json'), JSON.stringify(config))
      assertAsksToSignIn(await runProgram('opencode', ['mcp', 'list'], { cwd: home, env }))
      await runProgram('opencode', ['mcp', 'auth', 'slipway'], { cwd: home, env })
      return publishWith(baseUrl, await findToken(join(home, '.local/share/opencode/mcp-auth.json')))
    },
  },
  {
    name: 'mcp-remote',
    packages: ['mcp-remote@0.15.1'],
    signsIn: 'when it connects',
    calls: 'a call of `publish_site` over its stdio',
    async run({ url, env, home }) {
      const [command, args] = ['mcp-remote', [url]]
      await using agent = await Agent.over(
        new StdioClientTransport({ command, args, cwd: home, env: env as Record<string, string> }),
        'legacy',
      )
      return (await agent.call('publish_site', { files: FILES })).slug
    },
  },
  {
    name: 'MCP Inspector',
    packages: ['@modelcontextprotocol/inspector@2.12.0'],
    signsIn: 'with an API key: its command line has no sign-in',
    calls: '`--cli … --method tools/call`',
    async run({ url, env, home, key }) {
      const output = await runProgram(
        'mcp-inspector',
        [
          ...['--cli', url, '--transport', 'http', '--header', `Authorization: Bearer ${await key()}`],
          ...['--method', 'tools/call', '--tool-name', 'publish_site'],
          ...['--tool-arg', `files=${JSON.stringify(FILES)}`],
        ],
        { cwd: home, env },
      )
      return readSlug(output)
    },
  },
  {
    name: 'ai-sdk',
    packages: ['@ai-sdk/mcp@2.0.99'],
    signsIn: 'with an `authProvider`, when it connects',
    calls: 'a call of `publish_site`',
    run: (surroundings) => runScript('ai-sdk.mjs', surroundings),
  },
  {
    name: 'LangChain',
    packages: ['@langchain/mcp-adapters@1.1.4', '@langchain/core@1'],
    signsIn: 'with an `authProvider`, when it connects',
    calls: 'a call of `publish_site`',
    run: (surroundings) => runScript('langchain.mjs', surroundings),
  },
]

/** A list of servers says that this one needs a sign-in: at `/mcp`, both agents say that they are connected. */
function assertAsksToSignIn(output: string): void {
  assert.match(output, /needs (authentication|auth)/i)
}

/** Publishes at `/mcp`, for which the token is too. */
async function publishWith(baseUrl: string, token: string): Promise<string> {
  await using agent = await Agent.connect(baseUrl, { key: token })
  return (await agent.call('publish_site', { files: FILES })).slug
}

/** The access token in a file of credentials, whatever its format. */
async function findToken(path: string): Promise<string> {
  const text = await readFile(path, 'utf8')
  const [, token] = /"access_?token"\s*:\s*"([^"]+)"/i.exec(text) ?? []
  if (token === undefined) throw new Error(`${path} has no access token`)
  return token
}

/** Runs a script beside the packages of a client; it prints the result of `publish_site`. */
async function runScript(name: string, { folder, env, home, url }: Surroundings): Promise<string> {
  for (const file of [name, 'auth-provider.mjs'])
    await copyFile(join(import.meta.dirname, 'programs', file), join(folder, file))
  const script = join(folder, name)
  return readSlug(
    await runProgram(process.execPath, [script, url, JSON.stringify(FILES)], { cwd: home, env }),
  )
}

function readSlug(output: string): string {
  const [, slug] = /\\*"slug\\*"\s*:\s*\\*"([^"\\]+)/.exec(output) ?? []
  if (slug === undefined) throw new Error(`no slug in ${output.slice(0, 500)}`)
  return slug
}
