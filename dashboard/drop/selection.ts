/** Dropped or picked files; nothing has been read. */
export interface Selection {
  /** Folders and files of a drop. */
  entries: FileSystemEntry[]
  /** Files of a picker; those of a folder have a path (`webkitRelativePath`). */
  files: File[]
}

/** The contents of a drop. Must be read in the event handler: the browser clears it afterwards. */
export function readDrop({ items, files }: DataTransfer): Selection {
  const list = [...items].filter(({ kind }) => kind === 'file')
  if (list.length === 0) return { entries: [], files: [...files] }
  const found = list.map((item) => item.webkitGetAsEntry?.() ?? item.getAsFile())
  return {
    entries: found.filter((one): one is FileSystemEntry => one !== null && !(one instanceof File)),
    files: found.filter((one): one is File => one instanceof File),
  }
}

/** Whether files are dragged, rather than text or a link. */
export function carriesFiles({ dataTransfer }: DragEvent): boolean {
  return dataTransfer?.types.includes('Files') ?? false
}
