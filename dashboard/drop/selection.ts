/** Dropped, picked or pasted files; nothing has been read. */
export interface Selection {
  /** Folders and files of a drop. */
  entries: FileSystemEntry[]
  /** Files of a picker; those of a folder have a path (`webkitRelativePath`). */
  files: File[]
  /** Whether the user confirms it even without findings: a paste happens without a label that names what it does. */
  needsConfirmation?: boolean
  /** In place of the others. */
  change?: FileChange
}

/** Files to add or to replace, as they are, in a site that keeps its other files. */
export interface FileChange {
  /** By default, the type follows from the path and the content. */
  files: { path: string; source: File; contentType?: string | undefined }[]
  /** Noted with the version. */
  message: string
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

/**
 * The files, the picture or the page of the clipboard; undefined when it has something else. Must be read in the event
 * handler.
 */
export function readPaste(data: DataTransfer): Selection | undefined {
  const [text, html] = [data.getData('text/plain'), data.getData('text/html')]
  if (isHtmlSource(text)) return pasted([toPage(text)])
  // Office programs add a picture of what was copied.
  if (data.files.length > 0 && !(text && html)) return { ...readDrop(data), needsConfirmation: true }
  return text && html ? pasted([toPage(html)]) : undefined
}

/** Whether files are dragged, rather than text or a link. */
export function carriesFiles({ dataTransfer }: DragEvent): boolean {
  return dataTransfer?.types.includes('Files') ?? false
}

function pasted(files: File[]): Selection {
  return { entries: [], files, needsConfirmation: true }
}

function isHtmlSource(text: string): boolean {
  return /^\s*<(!doctype|[a-z])/i.test(text) && text.includes('>')
}

function toPage(html: string): File {
  const isDocument = /^\s*<!doctype/i.test(html)
  const content = isDocument ? html : `<!doctype html>\n<meta charset="utf-8">\n${html}`
  return new File([content], 'index.html', { type: 'text/html' })
}
