/** The entry `slipway/node`: what needs the file system and the network of Node. */
export { type NodeTransport, type NodeTransportOptions, nodeTransport } from './node-transport.ts'
export {
  type FolderFiles,
  type FolderOptions,
  type FolderResult,
  publishFolder,
  readFolder,
} from './publish-folder.ts'
