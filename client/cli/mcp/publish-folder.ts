import { existsSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { stripControlChars } from '../../../protocol/format.ts'
import { UsageError } from '../cli-error.ts'
import type { CommandContext, OptionValues } from '../command.ts'
import { describeError, type ErrorReport } from '../format-error.ts'
import { publish } from '../publish.ts'
import { SiteMemory } from '../state/site-memory.ts'
import { Terminal } from '../terminal/terminal.ts'

/** A result of a tool. */
export interface ToolResult {
  content: { type: 'text'; text: string }[]
  structuredContent?: Record<string, unknown>
  isError?: true
}

const text = (description: string) => ({ type: 'string', description })

/** Arguments that are options of `slipway publish`. */
const OPTION_ARGUMENTS = {
  site: text('The slug of the site to update'),
  name: text('The name of a new site, its slug'),
  title: text('Page title'),
  description: text('Meta description'),
  message: text('A note about the version'),
  new: { type: 'boolean', description: 'Create a new site' },
  overwrite: {
    type: 'boolean',
    description: 'Publish even if another version went live since the last publish of this folder',
  },
  draft: { type: 'boolean', description: 'Keep the version as a draft with its own URL' },
  spa: { type: 'boolean', description: 'Serve index.html for unknown paths' },
}

/** The tool that only a program on the machine of the files can have. */
export const PUBLISH_FOLDER = {
  name: 'publish_folder',
  title: 'Publish a folder',
  description:
    'Publishes a folder or a file of this machine: as the site that it was published as before, otherwise as a new site. Uploads only files that changed. Works without an account: then show the user claimUrl, the link that keeps the site.',
  inputSchema: {
    type: 'object',
    required: ['path'],
    properties: {
      path: text('Absolute path of the folder that has index.html, or of a file'),
      ...OPTION_ARGUMENTS,
      mode: {
        type: 'string',
        enum: ['merge', 'replace'],
        description: 'merge keeps the other files of the site; replace may remove most of them',
      },
    },
  },
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: true },
}

/** Publishes as `slipway publish` does. The folder above, or the folder itself, remembers the site. */
export async function publishFolder(
  work: CommandContext,
  server: string,
  args: Record<string, unknown>,
): Promise<ToolResult> {
  const output = { stdout: '', stderr: '' }
  const { signal } = work
  const streams = {
    stdin: Readable.from([]),
    stdout: collect((chunk) => (output.stdout += chunk)),
    stderr: collect((chunk) => (output.stderr += chunk)),
  }
  const terminal = new Terminal(streams, { color: false, signal })
  try {
    const { options, path } = readArguments(args)
    const folder = resolve(work.cwd, path)
    const cwd = existsSync(join(folder, '.slipway')) ? folder : dirname(folder)
    const context = { ...work, cwd, terminal, streams, siteMemory: new SiteMemory(cwd) }
    const operand = cwd === folder ? '.' : basename(folder)
    await publish.run(context, { ...options, server, json: true }, [operand])
    return {
      content: [{ type: 'text', text: output.stdout + output.stderr }],
      structuredContent: JSON.parse(output.stdout) as Record<string, unknown>,
    }
  } catch (error) {
    return toErrorResult(describeError(error, work))
  }
}

/** The error with its next steps, from which a model learns what to do. */
export function toErrorResult({ code, message, hints }: ErrorReport): ToolResult {
  const text = [`${code}: ${message}`, ...hints].map(stripControlChars).join('\n')
  return { content: [{ type: 'text', text }], isError: true }
}

function readArguments({ path, mode, ...args }: Record<string, unknown>): {
  path: string
  options: OptionValues
} {
  if (typeof path !== 'string' || path === '') throw new UsageError('path must be the path of a folder')
  const options: OptionValues = {}
  for (const [name, { type }] of Object.entries(OPTION_ARGUMENTS)) {
    const value = args[name]
    if (value === undefined) continue
    if (typeof value !== type) throw new UsageError(`${name} must be a ${type}`)
    options[name] = value as string | boolean
  }
  if (mode !== undefined && mode !== 'merge' && mode !== 'replace')
    throw new UsageError('mode must be merge or replace')
  return { path, options: mode === undefined ? options : { ...options, [mode]: true } }
}

function collect(add: (chunk: string) => void): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      add(chunk.toString())
      done()
    },
  })
}
