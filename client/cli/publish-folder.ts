import { existsSync, realpathSync } from 'node:fs'
import { join, parse, relative, resolve, sep } from 'node:path'
import { pluralize } from '../../protocol/format.ts'
import { type FolderScan, isPrivateFolder, linkTarget } from '../sdk/folder/scan.ts'
import { RefusedError, UsageError } from './cli-error.ts'
import { type CommandContext, type OptionValues, stringOption } from './command.ts'
import { builtFolder } from './folder/read-site.ts'
import { quoteArgument } from './quote-argument.ts'
import { namedServer } from './server.ts'
import { choose, confirm } from './terminal/choose.ts'

/** Files of which one at the top of a folder says that its site has to be built. */
const PROJECT_FILES = [
  'package.json',
  'deno.json',
  'deno.jsonc',
  'Gemfile',
  'composer.json',
  'pyproject.toml',
  'Cargo.toml',
  'go.mod',
  'hugo.toml',
  '_config.yml',
  'mkdocs.yml',
]

/**
 * The folder to publish: the named one, otherwise the one that was published from here last, otherwise this one. The
 * folder of a project with a built site is published only on request.
 */
export async function chooseFolder(
  work: CommandContext,
  options: OptionValues,
  operand: string | undefined,
): Promise<string> {
  const name = operand ?? rememberedFolder(work, options) ?? (await projectFolder(work)) ?? '.'
  const folder = resolve(work.cwd, name)
  assertFolder(work, folder, name)
  assertNoLinkOutside(work, folder)
  return folder
}

function rememberedFolder(
  { cwd, siteMemory, settings, terminal }: CommandContext,
  options: OptionValues,
): string | undefined {
  const slug = stringOption(options, 'site')
  const isNamed = slug !== undefined || options.new === true
  const sites = siteMemory.all(namedServer(stringOption(options, 'server'), settings))
  // Without a name, a site that the user has not published is a question later; with one, the folder has to be theirs.
  const folder = sites.find(
    (site) => (slug === undefined || site.slug === slug) && (site.isOwn || !isNamed),
  )?.folder
  if (folder === undefined && slug !== undefined) assertNoOtherFolder(siteMemory, slug)
  if (folder === undefined) return undefined
  if (!siteMemory.isInside(folder))
    throw new UsageError(
      `The last publish from here was of ${folder}, which is outside this folder`,
      `To publish it again, name it: ${settings.program} publish ${quoteArgument(resolve(cwd, folder))}`,
      `To publish this folder: ${settings.program} publish .`,
    )
  if (folder !== '.') terminal.printNote(`Using ${folder}, like last time.`)
  return folder
}

/** Throws a UsageError where the working folder would be published, but only folders in it were published before. */
function assertNoOtherFolder(siteMemory: CommandContext['siteMemory'], slug: string): void {
  const other = siteMemory.all().find((site) => site.isOwn && site.folder !== '.')
  if (other === undefined) return
  throw new UsageError(
    `${slug} is not a site that was published from here`,
    `Name the folder as well, such as ${quoteArgument(other.folder)}, or . for this one`,
  )
}

/**
 * Asks before the working folder is published that was neither named nor published before, and has no start page.
 * Without a terminal it is published. Throws a RefusedError after a no.
 */
export async function confirmFolder(
  { cwd, terminal, siteMemory }: CommandContext,
  { folder, mode }: { folder: string; mode: 'merge' | 'replace' | undefined },
  { files }: FolderScan,
): Promise<void> {
  const isKnown = folder !== cwd || siteMemory.find(folder) !== undefined || projectOutput(cwd) !== undefined
  const isSite = mode === 'merge' || files.some(({ path }) => path === 'index.html')
  if (!terminal.interactive || isKnown || isSite) return
  const question = `Publish this folder (${pluralize(files.length, 'file')}, no index.html)?`
  if (!(await confirm(terminal, question))) throw new RefusedError('Nothing was published')
}

/** The folder of the built site, if the folder belongs to a project. */
function projectOutput(folder: string): string | undefined {
  return PROJECT_FILES.some((name) => existsSync(join(folder, name))) ? builtFolder(folder) : undefined
}

/** The folder to publish when this one belongs to a project with a built site. */
async function projectFolder({ cwd, terminal, settings }: CommandContext): Promise<string | undefined> {
  const built = projectOutput(cwd)
  if (built === undefined) return undefined
  const situation = `This folder is a project. Its built site is in ${built}`
  if (!terminal.interactive) {
    throw new UsageError(
      situation,
      `To publish the built site: ${settings.program} publish ${built}`,
      `To publish this folder with its source: ${settings.program} publish .`,
    )
  }
  const chosen = await choose(terminal, `${situation}. Which one do you want to publish?`, [
    ['built', built],
    ['all', 'This folder with its source'],
    ['cancel', 'Cancel'],
  ])
  if (chosen === 'cancel') throw new RefusedError('Nothing was published')
  return chosen === 'built' ? built : '.'
}

/**
 * Throws a UsageError for a folder or file below the working folder that a link leads out of it. The link may have come
 * with the folder: what it leads to has to be named.
 */
export function assertNoLinkOutside(
  { cwd, settings: { program } }: Pick<CommandContext, 'cwd' | 'settings'>,
  folder: string,
): void {
  const target = linkTarget(folder)
  if (target === undefined) return
  throw new UsageError(
    `${relative(cwd, folder)} is a link to ${target}, which is outside the folder of the link`,
    `To publish that, name it: ${program} publish ${quoteArgument(target)}`,
  )
}

/** Throws an error for a folder that does not exist, is private, or holds more than one site. `command` takes a folder. */
export function assertFolder(
  { settings, cwd }: Pick<CommandContext, 'cwd' | 'settings'>,
  folder: string,
  operand: string,
  command = 'publish',
): void {
  if (!existsSync(folder)) {
    throw new UsageError(
      `Folder not found: ${operand}`,
      `To ${command.split(' ')[0]} the current folder: ${settings.program} ${command} .`,
    )
  }
  const target = realpathSync.native(folder)
  const hasHome = folder === resolve(settings.home) || isWithin(settings.home, target)
  if (hasHome || target === parse(target).root || isPrivateFolder(folder, { top: cwd }))
    throw refusedFolder(settings.program, folder, command)
}

export function refusedFolder(program: string, folder: string, command = 'publish'): RefusedError {
  return new RefusedError(
    `Refusing to ${command.split(' ')[0]} ${folder}: it has your home folder, or belongs to a repository, to stored keys or to the system`,
    `Name the folder of your site: ${program} ${command} ./folder`,
  )
}

/** Whether a folder is another one or in it. */
function isWithin(folder: string, target: string): boolean {
  const real = existsSync(folder) ? realpathSync.native(folder) : folder
  return real === target || real.startsWith(target + sep)
}
