//! The clients for stores, one for each bucket, container or dataset.

use std::io;
use std::sync::Arc;

use object_store::path::Path as Key;
use object_store::{ObjectMeta, ObjectStore};

use super::environment;
use super::failure::Failure;
use super::http::{Connector, Lists, next};
use super::hub::Hub;
use super::scheme::Scheme;

/// A bucket, and the client for it.
#[derive(Debug)]
pub(super) struct Bucket {
    pub(super) scheme: &'static Scheme,
    /// The name. That of a dataset ends in the commit that is read.
    pub(super) name: String,
    pub(super) store: Box<dyn ObjectStore>,
    pub(super) lists: Arc<Lists>,
    /// The part of the Hub's interface that `store` does not have.
    hub: Option<Arc<Hub>>,
}

impl Bucket {
    /// Configures the client from environment variables.
    ///
    /// # Errors
    /// A variable is not valid, or the Hub does not have the dataset.
    pub(super) fn connect(scheme: &'static Scheme, name: &str) -> io::Result<Self> {
        environment::check(scheme, name)?;
        let lists = Arc::new(Lists::new(scheme));
        if scheme.name == "hf" {
            let (hub, store) = Hub::connect(scheme, name)?;
            let name = hub.name();
            return Ok(Self { scheme, name, store, lists, hub: Some(hub) });
        }
        let store = open(scheme, name, Connector(Arc::clone(&lists))).map_err(|error| {
            let variables = scheme.words[0].split('_').next().unwrap_or_default();
            let problem =
                format!("{}://{name}: {error}; check the environment variables {variables}_…", scheme.name);
            io::Error::new(io::ErrorKind::InvalidInput, problem)
        })?;
        Ok(Self { scheme, name: name.to_owned(), store, lists, hub: None })
    }

    /// Returns the name of the object with this key.
    pub(super) fn object(&self, key: &str) -> String {
        format!("{}://{}/{key}", self.scheme.name, self.name)
    }

    /// Returns the place of a failed request, which reads from `offset` on if it reads at all.
    pub(super) fn failure<'a>(&'a self, key: &'a Key, offset: Option<u64>) -> Failure<'a> {
        Failure { scheme: self.scheme, bucket: &self.name, key: key.as_ref(), offset }
    }

    /// Lists all objects below `folder`.
    pub(super) async fn list(&self, folder: &Key) -> object_store::Result<Vec<ObjectMeta>> {
        if let Some(hub) = &self.hub {
            return hub.list(folder, &self.lists).await;
        }
        let mut objects = self.store.list((!folder.as_ref().is_empty()).then_some(folder));
        let mut metas: Vec<ObjectMeta> = Vec::new();
        while let Some(meta) = next(&mut objects).await {
            metas.push(meta?);
        }
        Ok(metas)
    }
}

/// Creates the client of `object_store`.
fn open(scheme: &Scheme, name: &str, connector: Connector) -> object_store::Result<Box<dyn ObjectStore>> {
    let store: Box<dyn ObjectStore> = match scheme.name {
        "gs" => {
            let builder = object_store::gcp::GoogleCloudStorageBuilder::from_env().with_bucket_name(name);
            Box::new(builder.with_http_connector(connector).build()?)
        }
        "az" => {
            let builder = object_store::azure::MicrosoftAzureBuilder::from_env().with_container_name(name);
            Box::new(builder.with_http_connector(connector).build()?)
        }
        _ => {
            let builder = object_store::aws::AmazonS3Builder::from_env().with_bucket_name(name);
            Box::new(builder.with_http_connector(connector).build()?)
        }
    };
    Ok(store)
}
