import { existsSync, readdirSync } from 'node:fs'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import type { FileEntry } from '../../protocol/api/fields.schema.ts'
import { formatFileCount } from '../../protocol/format.ts'
import { STATE_FOLDER } from '../../protocol/ignore/default-rules.ts'
import { listPaths } from '../../protocol/ignore/exclusions.ts'
import { caseCollisions } from '../../protocol/manifest/folder.ts'
import { sumSizes } from '../../protocol/manifest/manifest.ts'
import { describeIndexAlias, findIndexAliases } from '../../protocol/manifest/root-document.ts'
import { normalizeNfc } from '../../protocol/manifest/unicode.ts'
import { digestAll } from '../sdk/folder/digest.ts'
import { isUnfinished, linkTarget, scan } from '../sdk/folder/scan.ts'
import type { Slipway } from '../sdk/slipway.ts'
import { SlipwayError } from '../sdk/slipway-error.ts'
import { openSite } from './account.ts'
import { RefusedError, UsageError } from './cli-error.ts'
import { type Command, type CommandContext, printResult, SITE_OPTIONS, stringOption } from './command.ts'
import { FolderWriter, isProtectedFolder, isWritablePath, listNames } from './folder/folder-writer.ts'
import { invalidTar, readTar } from './folder/read-tar.ts'
import { quoteArgument } from './quote-argument.ts'
import { ProgressView } from './terminal/progress.ts'
import { unlessMissing } from './version-conflict.ts'
import { resolveVersionOrLive } from './version-id.ts'

/** `slipway pull [folder]` */
export const pull: Command = {
  name: 'pull',
  operands: '[folder]',
  summary: 'Download the files of a site',
  about: `
Downloads the files of the live version, or of another one, into a folder: by default a new one with the name of the
site. Every file is verified against its SHA-256 before it replaces another one, and none is written through a symbolic
link in the folder, or one that leads there. In the folder that was published as the site, the files that the live
version no longer has are removed, unless they were changed here.`,
  options: {
    version: { type: 'string', value: 'ID', help: 'Another saved version; the start of its id is enough' },
    force: { type: 'boolean', help: 'Write into a folder with other files, and replace files in it' },
    ...SITE_OPTIONS,
  },
  async run(work, options, [operand]) {
    const { terminal, cwd, platform, signal } = work
    const { slug, server, slipway } = await openSite(work, options)
    if (operand === undefined && work.siteMemory.find(cwd, server)?.slug === slug)
      throw publishedHere(work, slug)
    const folder = resolve(cwd, operand ?? slug)
    if (linkTarget(folder) !== undefined)
      throw new RefusedError(`Refusing to write through the symbolic link ${folder}`)
    if (isProtectedFolder(folder, cwd))
      throw new RefusedError(
        `Refusing to write into ${folder}`,
        'Repositories and keys have their files there: name another folder',
      )
    const typed = stringOption(options, 'version')
    const versionId = await resolveVersionOrLive(work, slipway, { slug, typed })
    const { slug: current, files } = await slipway.version(slug, versionId)
    const writable = files.filter(({ path }) => isWritablePath(path, platform))
    const aliases = findAliases(folder, writable)
    const wanted = writable.filter(({ path }) => !aliases.has(path))
    if (options.force !== true) await assertReplaceable(folder, wanted)
    const writer = new FolderWriter({ ...placeOf(folder, cwd), signal })
    for (const { path } of wanted) writer.check(path)
    const collisions = caseCollisions(wanted.map(({ path }) => ({ path, local: path })))
    if (collisions.length > 0 && writer.foldsCase())
      throw new RefusedError(`${folder} can't hold files whose names differ only in case`, ...collisions)
    await download(work, slipway, { slug, versionId, writer, files: wanted, maxBytes: maxTarBytes(files) })
    const isSource = work.siteMemory.find(folder, server)?.slug === slug && options.version === undefined
    const skipped = files.filter((file) => !writable.includes(file)).map(({ path }) => path)
    const isComplete = skipped.length === 0
    const pulled = { slug, server, folder, versionId, files, writer, isComplete }
    const removed = isSource ? await removeDeleted(work, slipway, pulled) : []
    const result = {
      slug: current,
      versionId,
      folder,
      files: wanted.length,
      bytes: sumSizes(wanted),
      skipped,
      removed,
    }
    printResult(work, options, result, () => {
      if (!isComplete) terminal.printNote(`Skipped unsafe paths: ${skipped.join(', ')}`)
      if (!isComplete && isSource)
        terminal.printNote('A publish from here removes them from the site, unless with --merge.')
      for (const alias of aliases.values()) terminal.printNote(alias)
      if (removed.length > 0) terminal.printNote(`Removed: ${listPaths(removed, false)}`)
      terminal.printDone(`Downloaded ${formatFileCount(wanted)}`)
      terminal.print(relative(cwd, folder) || '.')
    })
  },
}

/** A folder below the working folder may be a link that came with it. */
function placeOf(folder: string, cwd: string): { base: string; folder: string[] } {
  const names = relative(cwd, folder).split(sep)
  const isBelow = names[0] !== '' && names[0] !== '..' && !isAbsolute(relative(cwd, folder))
  return isBelow ? { base: cwd, folder: names } : { base: folder, folder: [] }
}

/**
 * The paths of each `index.html` that a publish makes of another file, such as `index.htm`, with a sentence: it would be
 * published in place of a later edition of that. One that the folder has is none.
 */
function findAliases(folder: string, files: readonly FileEntry[]): Map<string, string> {
  const hashes = new Map(files.map(({ path, hash }) => [path, hash]))
  const made = findIndexAliases(files.filter(({ path }) => !INDEX.test(path))).filter(({ path, file }) => {
    const isSame = file.hash !== undefined && hashes.get(path) === file.hash
    return isSame && !listNames(join(folder, dirname(path))).includes('index.html')
  })
  return new Map(made.map((alias) => [alias.path, describeIndexAlias(alias)]))
}

const INDEX = /(^|\/)index\.html$/

/** Throws a RefusedError unless the folder is absent, is empty, or has only files of the version, as after a cut-off pull. */
async function assertReplaceable(folder: string, files: readonly FileEntry[]): Promise<void> {
  const names = existsSync(folder) ? readdirSync(folder) : []
  if (names.length === 0) return
  const refusal = new RefusedError(`${folder} isn't empty`, 'To replace files in it: --force')
  // Before the whole tree is read, which may be that of a home folder.
  const topNames = new Set([STATE_FOLDER, ...files.map(({ path }) => path.split('/', 1)[0]!)])
  if (names.some((name) => !topNames.has(normalizeNfc(name)) && !isUnfinished(name))) throw refusal
  // Also what a publish leaves out by default, which the site may have by a rule of its publisher.
  const found = scan(folder, { mode: 'merge', ignored: true })
  const hashes = new Map(files.map(({ path, hash }) => [path, hash]))
  const isPulled =
    found.excluded.length + found.misnamed.length === 0 &&
    found.files.every(({ path }) => hashes.has(path)) &&
    (await digestAll(found.files)).every(({ hash, path }) => hash === hashes.get(path))
  if (!isPulled) throw refusal
}

/** The folder of the site would have its files twice. */
function publishedHere({ settings: { program } }: CommandContext, slug: string): UsageError {
  return new UsageError(
    `This folder was published as ${slug}: name the folder to write into`,
    `To download beside it: ${program} pull ${quoteArgument(`../${slug}`)}`,
    `To replace the files of this folder: ${program} pull . --force`,
  )
}

interface Pulled {
  slug: string
  server: string
  folder: string
  versionId: string
  files: readonly FileEntry[]
  writer: FolderWriter
  /** Whether none of its files was skipped. */
  isComplete: boolean
}

/**
 * Removes the files of the version last seen from here that the pulled one does not have; returns their paths. The next
 * publish replaces the pulled version, unless the folder has changes of such files, or files of a folder that a link
 * leads to, or lacks files that were skipped, or the files are not known any more.
 */
async function removeDeleted(
  { siteMemory, terminal, platform }: CommandContext,
  slipway: Slipway,
  { slug, server, folder, versionId, files, writer, isComplete }: Pulled,
): Promise<string[]> {
  const seen = siteMemory.find(folder, server)?.liveVersionId ?? versionId
  const before = seen === versionId ? { files } : await unlessMissing(slipway.version(slug, seen))
  if (!before) {
    terminal.printNote(
      'The version that was published here last is no longer kept: files that were deleted since then stay. Compare the folder, then publish with --overwrite.',
    )
    return []
  }
  const paths = new Set(files.map(({ path }) => path))
  const folded = new Set(files.map(({ path }) => path.toLowerCase()))
  // Where names do not differ in case only, the pulled file may have the name of a deleted one.
  const isPulled = (path: string) => paths.has(path) || (folded.has(path.toLowerCase()) && writer.foldsCase())
  const deleted = new Map(
    before.files
      .filter(({ path }) => isWritablePath(path, platform) && !isPulled(path))
      .map(({ path, hash }) => [path, hash]),
  )
  // What the rules of the folder leave out does not come back with a publish.
  const present = scan(folder, { mode: 'merge', secrets: true }).files.filter(({ path }) => deleted.has(path))
  const found = await digestAll(present)
  const removed = present.filter(
    ({ path, local }, index) => found[index]!.hash === deleted.get(path) && !writer.isBehindLink(local),
  )
  for (const { local } of removed) writer.remove(local)
  const kept = present.filter((file) => !removed.includes(file)).map(({ local }) => local)
  if (kept.length === 0 && isComplete) siteMemory.setLiveVersion(slug, server, versionId)
  if (kept.length > 0)
    terminal.printNote(
      `Not in the live version, but changed here or behind a link: ${listPaths(kept, false)}`,
    )
  return removed.map(({ local }) => local)
}

interface Download {
  slug: string
  versionId: string
  writer: FolderWriter
  files: FileEntry[]
  /** Maximum size of the archive without compression. */
  maxBytes: number
}

/** Maximum size of the headers of a file in the archive. */
const MAX_HEADER_BYTES = 8 * 1024

/** Room for compression that enlarges. */
const MAX_EXPANSION = 1.01

function maxTarBytes(files: readonly FileEntry[]): number {
  const bytes = sumSizes(files) + (files.length + 2) * MAX_HEADER_BYTES
  if (Number.isSafeInteger(bytes)) return bytes
  throw new RefusedError('The server sent files of impossible sizes')
}

/** The chunks of an archive, which a server could continue without an end. */
async function* limitBytes(chunks: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.byteLength
    if (bytes > maxBytes)
      throw new RefusedError("The server's archive is longer than the files of its version")
    yield chunk
  }
}

/** What is unzipped. A proxy may end a body early as if it were complete. */
async function* withOwnErrors(unzipped: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* unzipped
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === 'Z_BUF_ERROR')
      throw new SlipwayError("The server's archive ended early", { code: 'NETWORK', cause })
    throw code?.startsWith('Z_') ? invalidTar() : cause
  }
}

async function download(
  { terminal, retryPolicy, signal }: CommandContext,
  slipway: Slipway,
  { slug, versionId, writer, files, maxBytes }: Download,
): Promise<void> {
  const missing = new Map(files.map((file) => [file.path, file]))
  const view = new ProgressView(terminal, 'Downloading', retryPolicy.now)
  const progress = { files: files.length, filesDone: 0, bytes: sumSizes(files), bytesDone: 0 }
  const { bytes } = await slipway.archive(slug, versionId)
  const unzipped = createGunzip()
  const unzipping = pipeline(Readable.from(limitBytes(bytes(), maxBytes * MAX_EXPANSION)), unzipped, {
    signal,
  })
  // Its error is thrown where the bytes are read.
  unzipping.catch(() => undefined)
  for await (const entry of readTar(limitBytes(withOwnErrors(unzipped), maxBytes))) {
    const file = missing.get(entry.path)
    if (!file) continue
    await writer.write(file, entry)
    missing.delete(entry.path)
    progress.filesDone++
    progress.bytesDone += file.size
    view.show(progress)
    if (missing.size === 0) break
  }
  const [first] = missing.keys()
  if (first !== undefined) throw new RefusedError(`The server didn't send ${first}`)
}
