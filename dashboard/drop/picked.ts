/** What somebody dropped or picked; nothing of it has been read. */
export interface Picked {
  /** Folders and files of a drop. */
  entries: FileSystemEntry[]
  /** Files of a picker; those of a folder know their path in it (`webkitRelativePath`). */
  files: File[]
}

/** What was dropped. Has to be asked in the event itself: later the browser has forgotten it. */
export function dropped({ items, files }: DataTransfer): Picked {
  const list = [...items].filter(({ kind }) => kind === 'file')
  if (list.length === 0) return { entries: [], files: [...files] }
  const found = list.map((item) => item.webkitGetAsEntry?.() ?? item.getAsFile())
  return {
    entries: found.filter((one): one is FileSystemEntry => one !== null && !(one instanceof File)),
    files: found.filter((one): one is File => one instanceof File),
  }
}

/** Whether files are being dragged, rather than a text or a link. */
export function carriesFiles({ dataTransfer }: DragEvent): boolean {
  return dataTransfer?.types.includes('Files') ?? false
}
