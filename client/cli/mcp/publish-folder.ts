import { existsSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { METADATA_TEXTS } from '../../../protocol/api/publish.ts'
import { stripControlChars } from '../../../protocol/format.ts'
import { isPrivateFolder } from '../../sdk/folder/scan.ts'
import { UsageError } from '../cli-error.ts'
import { type CommandContext, mustHaveValue, type OptionValues } from '../command.ts'
import type { ErrorReport } from '../format-error.ts'
import { optionOf } from '../metadata-options.ts'
import { publish } from '../publish.ts'
import { assertNoLinkOutside, refusedFolder } from '../publish-folder.ts'
import { SiteMemory } from '../state/site-memory.ts'
import { Terminal } from '../terminal/terminal.ts'

/** A result of a tool. */
export interface ToolResult {
  content: { type: 'text'; text: string }[]
  structuredContent?: Record<string, unknown>
  isError?: true
}

const text = (description: string) => ({ type: 'string', description })
const bool = (description: string) => ({ type: 'boolean', description })

/** Arguments that are options of `slipway publish`, by the names that they have in the tools of the server. */
const OPTIONS: Record<string, [option: string, schema: { type: string; description: string }]> = {
  slug: ['site', text('The site to update: the first label of its URL')],
  name: ['name', text('The first label of the URL of a new site: a-z, 0-9, hyphens; needs an account')],
  preview: ['preview', text('Publish to the preview of this name; the live site stays as it is')],
  ...Object.fromEntries(
    Object.entries(METADATA_TEXTS).map(([field, { words }]) => [
      field,
      [optionOf(field as keyof typeof METADATA_TEXTS), text(words)],
    ]),
  ),
  message: ['message', text('A note about this version')],
  spaMode: ['spa', bool('Unknown paths show index.html')],
  draft: ['draft', bool('Keep the version as a draft with its own URL')],
  allowSecrets: ['allow-secret', text('Fingerprints of secrets that may be public, separated by commas')],
  new: ['new', bool('Create a new site, although the folder was published before')],
  overwrite: ['overwrite', bool('Publish even if another version went live since the last publish')],
}

const MODES = ['merge', 'replace']

/** Maximum number of entries of a list in a result. */
const MAX_LISTED = 50

const PROPERTIES = {
  path: text('Absolute path of the folder that has index.html, or of a file'),
  ...Object.fromEntries(Object.entries(OPTIONS).map(([name, [, schema]]) => [name, schema])),
  mode: {
    type: 'string',
    enum: MODES,
    description: 'merge keeps the other files of the site; replace may remove most of them',
  },
}

/** The tool that only a program on the machine of the files can have. */
export const PUBLISH_FOLDER = {
  name: 'publish_folder',
  title: 'Publish a folder',
  description:
    'Publishes a folder or a file of this machine: as the site that it was published as before, otherwise as a new site. Uploads only files that changed. Works without an account. Show the user siteUrl and, if present, claimUrl, which keeps the site.',
  inputSchema: { type: 'object', required: ['path'], properties: PROPERTIES, additionalProperties: false },
  annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: true },
}

/** Publishes as `slipway publish` does, and rejects as it. The folder above, or the folder itself, remembers the site. */
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
  const { options, path } = readArguments(args)
  const folder = resolve(work.cwd, path)
  assertNoLinkOutside(work, folder)
  // What the model has read may have named it: no user is in a private folder above.
  if (existsSync(folder) && isPrivateFolder(folder)) throw refusedFolder(work.settings.program, folder)
  const cwd = existsSync(join(folder, '.slipway')) ? folder : dirname(folder)
  const context = { ...work, cwd, terminal, streams, siteMemory: new SiteMemory(cwd, work.credentials) }
  const operand = cwd === folder ? '.' : basename(folder)
  await publish.run(context, { ...options, server, json: true }, [operand])
  const structuredContent = briefResult(JSON.parse(output.stdout) as Record<string, unknown>)
  return {
    content: [{ type: 'text', text: `${JSON.stringify(structuredContent)}\n${output.stderr}` }],
    structuredContent,
  }
}

/** With the first entries of its lists: clients refuse long results, and the model would not see the URL. */
function briefResult(result: Record<string, unknown>): Record<string, unknown> {
  const brief = (value: unknown) => (Array.isArray(value) ? value.slice(0, MAX_LISTED) : value)
  const entries = Object.entries(result).map(([name, value]) => [name, brief(value)])
  return { ...Object.fromEntries(entries), skippedCount: (result.skipped as unknown[]).length }
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
  for (const [name, value] of Object.entries(args)) {
    if (!Object.hasOwn(OPTIONS, name)) {
      const known = Object.keys(PROPERTIES).join(', ')
      throw new UsageError(`${name} is not an argument of publish_folder, which has ${known}`)
    }
    const [option, { type }] = OPTIONS[name]!
    if (typeof value !== type) throw new UsageError(`${name} must be a ${type}`)
    if (value === '' && mustHaveValue(publish.options[option]))
      throw new UsageError(`${name} must not be empty`)
    options[option] = value as string | boolean
  }
  // The domain of sites is not known here, and a label of another domain may be a site as well.
  if (/[.:/]/.test(String(options.site ?? '')))
    throw new UsageError('slug must be the first label of the URL of the site, not the URL')
  if (mode === undefined) return { path, options }
  if (!MODES.includes(mode as string)) throw new UsageError('mode must be merge or replace')
  return { path, options: { ...options, [mode as string]: true } }
}

function collect(add: (chunk: string) => void): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      add(chunk.toString())
      done()
    },
  })
}
