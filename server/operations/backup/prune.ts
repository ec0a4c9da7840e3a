import type { Readable } from 'node:stream'
import { AscendingFiles, CONTENTS, parseFileList } from './file-list.ts'
import { type BackupManifest, listBackups, listManifests, removeManifests } from './manifest.ts'
import { BackupError, type BackupTarget, BackupTargetError } from './target.ts'
import { compareContent, openContent } from './verify.ts'

export interface PruneResult {
  backups: number
  files: number
  bytes: number
}

const NAMES_PER_REQUEST = 1000

/** `keep` 0 keeps all. Removes nothing when a backup of a wrong clock is newer, which `restore` would take. */
export async function pruneAfter(
  target: BackupTarget,
  { time, service }: BackupManifest,
  keep: number,
): Promise<PruneResult | undefined> {
  const [newest] = await listBackups(target)
  if (newest !== time)
    throw new BackupTargetError(
      `has the new backup ${time}, and also one of a later time, ${newest}, which would be restored: correct the clock of this machine, or delete backups/${newest}.json. No backup was deleted`,
    )
  if (keep === 0) return undefined
  try {
    return await prune(target, keep, service)
  } catch (error) {
    if (!(error instanceof BackupError)) throw error
    const sentence = `The backup ${time} is complete, but earlier ones could not be deleted. ${error.message}`
    throw new BackupError(sentence, { cause: error })
  }
}

/**
 * Keeps the newest backups of this service, all of other ones, and the contents of these. Removes nothing when a
 * manifest cannot be read, which may be that of another service, or the list of a backup that is kept.
 */
export async function prune(target: BackupTarget, keep: number, service: string): Promise<PruneResult> {
  const kept: BackupManifest[] = []
  const removed: string[] = []
  let own = 0
  for await (const one of listManifests(target)) {
    if ('problem' in one) throw new BackupError(one.problem)
    if (one.manifest.service === service && ++own > keep) removed.push(one.time)
    else kept.push(one.manifest)
  }
  using bodies = new DisposableStack()
  const lists: AscendingFiles[] = []
  for (const manifest of kept) {
    const body = bodies.adopt(await openList(target, manifest), (one) => one.destroy())
    lists.push(new AscendingFiles(parseFileList(body)))
  }
  const isNamed = async (name: string) => {
    for (const list of lists) if (await list.find(name)) return true
    return false
  }
  await removeManifests(target, removed)
  await target.flush()
  const roots = new Set(kept.flatMap(({ database, list }) => [database, list].map(({ hash }) => hash)))
  const result: PruneResult = { backups: removed.length, files: 0, bytes: 0 }
  let unnamed: string[] = []
  const remove = async () => {
    await target.remove(unnamed)
    unnamed = []
  }
  for await (const { name, size } of target.list(CONTENTS)) {
    if (roots.has(name.slice(name.lastIndexOf('/') + 1)) || (await isNamed(name))) continue
    unnamed.push(name)
    result.files++
    result.bytes += size
    if (unnamed.length === NAMES_PER_REQUEST) await remove()
  }
  await remove()
  return result
}

/** Compares the list with its hash first: its files would be deleted in place of others. */
async function openList(target: BackupTarget, { time, list }: BackupManifest): Promise<Readable> {
  if ((await compareContent(target, list)) !== 'intact')
    throw new BackupTargetError(
      `has lost or changed the list of files of the backup ${time}: no backup was deleted`,
    )
  return (await openContent(target, list))!
}
